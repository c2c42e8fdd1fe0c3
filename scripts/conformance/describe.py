"""Prints the OpenAPI document of a server, and fails unless it is JSON."""

import json
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1] + "/openapi.json") as reply:
    json.dump(json.load(reply), sys.stdout)
