"""Reads the histograms of archived runs by HdrHistogram's own library for Python, adds up the
seconds, and holds them against what the reports state: the same counts, and the same value at each
percentile, to the nanosecond. Takes the folders of the runs."""

import json
import math
import pathlib
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

NS_PER_MS = 1e6
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


def empty() -> HdrHistogram:
    return HdrHistogram(1000, 3_600 * 10**9, 3)


def value_at(histogram: HdrHistogram, quantile: float) -> int:
    """The largest value of the bucket in which the sample of rank ceil(quantile * count) is, which is
    the rule of docs/lab.md. The library's own method rounds the rank to the nearest instead."""
    rank = max(math.ceil(quantile * histogram.get_total_count()), 1)
    counted = 0
    for index in range(histogram.counts_len):
        counted += histogram.get_count_at_index(index)
        if counted >= rank:
            return histogram.get_highest_equivalent_value(histogram.get_value_from_index(index))
    raise ValueError(f"{counted} values of {histogram.get_total_count()}")


def added_up(log: pathlib.Path) -> dict[str, HdrHistogram]:
    sums = {}
    reader = HistogramLogReader(str(log), empty())
    while (interval := reader.get_next_interval_histogram()) is not None:
        sums.setdefault(interval.get_tag(), empty()).add(interval)
    return sums


def differences(folder: pathlib.Path) -> list[str]:
    report = json.loads((folder / "report.json").read_text())
    sums = added_up(folder / "measured.hlog")
    found = []

    def compare(what: str, counted, stated) -> None:
        if counted != stated:
            found.append(f"{folder.name}: {what}: {counted} for {stated}")

    for kind, name in [("service", "latency_ms"), ("response", "response_ms")]:
        histogram = sums.get(f"hit:{kind}", empty())
        count = histogram.get_total_count()
        compare(f"{kind}, count", count, report["successes"])
        for member, quantile in QUANTILES.items():
            # From fewer samples nothing is stated: with them even the largest value may be below
            # the percentile, with more than 5 % probability.
            is_stated = quantile**count <= 0.05
            ms = value_at(histogram, quantile) / NS_PER_MS if is_stated else None
            compare(f"{kind} {member}, ms", ms, report[name][member])
        longest = histogram.get_max_value() / NS_PER_MS if count else None
        compare(f"{kind} max, ms", longest, report[name]["max"])
    return found


def main(folders: list[pathlib.Path]) -> int:
    wrong = [line for folder in folders for line in differences(folder)]
    for line in wrong:
        print(f"archive: {line}", file=sys.stderr)
    if not folders:
        print("archive: there are no runs", file=sys.stderr)
    return 1 if wrong or not folders else 0


if __name__ == "__main__":
    sys.exit(main([pathlib.Path(folder) for folder in sys.argv[1:]]))
