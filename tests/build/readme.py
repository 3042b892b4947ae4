"""Every snippet of README.md that names its example is equal to that region of it.

In the README, a line <!-- from examples/foo.cpp:region --> stands over a ```cpp block; in the example, the lines
// [region] and // [/region] stand round the same text, indented or not.
"""
import re
import textwrap

from tools import ROOT, report

SNIPPET = re.compile(r"(?:<!-- from ([^\s:]+):(\S+) -->\n+)?```cpp\n(.*?)```", re.S)


def region(path, name):
    text = (ROOT / path).read_text()
    found = re.search(r"^[ \t]*// \[%s\]\n(.*?)^[ \t]*// \[/%s\]$" % (re.escape(name), re.escape(name)), text, re.S | re.M)
    return textwrap.dedent(found.group(1)) if found else None


checked, failures = 0, []
for path, name, snippet in SNIPPET.findall((ROOT / "README.md").read_text()):
    checked += 1
    if not path:
        failures.append("a snippet without <!-- from FILE:REGION --> over it:\n" + snippet)
    elif not (ROOT / path).is_file():
        failures.append("%s does not exist" % path)
    elif region(path, name) != snippet:
        failures.append("%s:%s differs from the README:\n%s" % (path, name, snippet))
report(checked, failures)
