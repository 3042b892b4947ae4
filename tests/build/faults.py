"""Every known fault is in the table of tests/README.md, once, and every test that the table names exists."""
import re

from tools import ROOT, report

FAULTS = ["B%03d" % number for number in range(1, 102)]
TESTS = ROOT / "tests"
ROW = re.compile(r"^\| (B\d+) \| ([^|]+) \| ([^|]+) \|$", re.M)
NAMED = re.compile(r"`([\w./]+\.(?:cpp|cu|py)): ([\w., ]+)`")
UNTESTED = re.compile(r"^(Cannot arise|Not offered yet|Measured)\b")


def exists(path, name):
    """Whether a file has a test of this name, and is compiled or run."""
    file = TESTS / path if (TESTS / path).is_file() else ROOT / path
    if not file.is_file():
        return False
    text = file.read_text()
    if file.suffix != ".py":
        suite, _, test = name.partition(".")
        macro = r"^(?:SMX_DEVICE_|TYPED_)?TEST(?:_F|_P)?\(\s*%s,\s*%s\)" % (re.escape(suite), re.escape(test))
        sources = (TESTS / path.split("/")[0] / "CMakeLists.txt").read_text()
        return bool(re.search(macro, text, re.M)) and path.split("/", 1)[1] in sources.split()
    if name.startswith("build."):
        registered = r"^smx_build_test\(%s %s\b" % (re.escape(name[len("build."):]), re.escape(file.name))
        return bool(re.search(registered, (TESTS / "build" / "CMakeLists.txt").read_text(), re.M))
    return bool(re.search(r"^def %s\(" % re.escape(name), text, re.M))


rows = ROW.findall((TESTS / "README.md").read_text())
checked, failures = len(rows), []
numbers = [number for number, _, _ in rows]
for number in sorted(set(FAULTS) | set(numbers)):
    if number not in FAULTS:
        failures.append("%s is not a number of a known fault" % number)
    elif numbers.count(number) != 1:
        failures.append("%s is there %d times" % (number, numbers.count(number)))
if numbers != sorted(numbers):
    failures.append("the rows are not in order")
for number, _, where in rows:
    named = [(path, name) for path, names in NAMED.findall(where) for name in names.split(", ")]
    checked += len(named)
    failures.extend("%s: %s has no test %s" % (number, path, name) for path, name in named if not exists(path, name))
    if not named and not UNTESTED.match(where):
        failures.append("%s names no test, and does not say why" % number)
report(checked, failures)
