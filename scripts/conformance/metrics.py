"""Reads the metrics of a server with the OpenMetrics parser of Prometheus's own client, which
refuses what is not OpenMetrics, and checks that what has to be told is told."""

import sys
import urllib.request

from prometheus_client.openmetrics import parser

EXPECTED = {
    "sarsen_http_request_duration_seconds": "histogram",
    "sarsen_tranlog_sync_duration_seconds": "histogram",
    "sarsen_checkpoint_duration_seconds": "histogram",
    "sarsen_commits": "counter",
    "sarsen_conflicts": "counter",
    "sarsen_transactions_aborted": "counter",
    "sarsen_memory_bytes": "gauge",
    "sarsen_queue_length": "gauge",
    "sarsen_connections_open": "gauge",
    "sarsen_build": "info",
    "process_cpu_seconds": "counter",
    "process_resident_memory_bytes": "gauge",
}

with urllib.request.urlopen(sys.argv[1] + "/metrics") as reply:
    media_type = reply.headers["Content-Type"]
    text = reply.read().decode()

if not media_type.startswith("application/openmetrics-text; version=1.0.0"):
    sys.exit(f"metrics: expected OpenMetrics 1.0, got {media_type}")
families = {family.name: family for family in parser.text_string_to_metric_families(text)}
for name, kind in EXPECTED.items():
    family = families.get(name)
    if family is None or family.type != kind:
        sys.exit(f"metrics: expected {kind} {name}, got {family}")
    if not family.samples:
        sys.exit(f"metrics: {name} has no samples")
for name, family in families.items():
    if not family.documentation:
        sys.exit(f"metrics: {name} is not explained")
print(f"metrics: {len(families)} families, read by the parser of prometheus_client")
