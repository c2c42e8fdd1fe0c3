"""Reads the histograms of an archived run by HdrHistogram's own library for Python, adds up the
seconds, and holds them against what the report states."""

import json
import pathlib
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

NS_PER_MS = 1e6


def main(folder: pathlib.Path) -> int:
    report = json.loads((folder / "report.json").read_text())
    sums = {}
    reader = HistogramLogReader(str(folder / "measured.hlog"), HdrHistogram(1000, 3_600 * 10**9, 3))
    while (interval := reader.get_next_interval_histogram()) is not None:
        tag = interval.get_tag()
        if tag not in sums:
            sums[tag] = HdrHistogram(1000, 3_600 * 10**9, 3)
        sums[tag].add(interval)
    wrong = []
    for kind, name in [("service", "latency_ms"), ("response", "response_ms")]:
        found = sums[f"hit:{kind}"]
        if found.get_total_count() != report["successes"]:
            wrong.append(f"{kind}: {found.get_total_count()} for {report['successes']}")
        for percent, member in [(50, "p50"), (90, "p90"), (99, "p99")]:
            stated = report[name][member]
            if stated is None:
                continue
            # Both tell values apart to a thousandth.
            ms = found.get_value_at_percentile(percent) / NS_PER_MS
            if abs(ms - stated) > stated / 500:
                wrong.append(f"{kind} {member}: {ms} ms for {stated} ms")
    for line in wrong:
        print(f"archive: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
