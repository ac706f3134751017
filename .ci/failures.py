"""Print the output of failed and skipped tests from `go test -json`."""
import collections
import json
import sys

lines = collections.defaultdict(list)
bad = []
with open(sys.argv[1], encoding="utf-8", errors="replace") as events:
    for raw in events:
        try:
            event = json.loads(raw)
        except ValueError:
            print(raw.rstrip())
            continue
        key = (event.get("Package") or event.get("ImportPath"), event.get("Test"))
        if event.get("Action") in ("output", "build-output"):
            lines[key].append(event.get("Output", ""))
        elif event.get("Action") in ("fail", "build-fail") or (event.get("Action") == "skip" and key[1]):
            bad.append(key)
for key in bad:
    print("---", *(part for part in key if part))
    print("".join(lines[key])[-12000:])
