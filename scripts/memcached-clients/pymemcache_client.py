"""What an application does with a cache, by pymemcache: memcached-clients.sh starts the server."""

import sys
import time

from pymemcache import serde
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError

address = ("127.0.0.1", int(sys.argv[1]))


def everything(client):
    client.flush_all(noreply=False)
    assert client.get("none") is None
    assert client.get("none", "default") == "default"
    assert client.set("text", "word", noreply=False)
    assert client.get("text") == "word"
    # Flags say what a value was: an object comes back as one.
    value = {"numbers": list(range(100)), "name": "Zoë"}
    assert client.set("object", value, noreply=False)
    assert client.get("object") == value
    assert client.add("text", "other", noreply=False) is False
    assert client.replace("text", "other", noreply=False) is True
    assert client.replace("missing", "x", noreply=False) is False
    assert client.append("text", "!", noreply=False) and client.prepend("text", "an", noreply=False)
    assert client.get("text") == "another!"
    assert client.set_many({f"many-{i}": i for i in range(200)}, noreply=False) == []
    many = client.get_many([f"many-{i}" for i in range(250)])
    assert many == {f"many-{i}": i for i in range(200)}, many
    got, token = client.gets("text")
    assert client.cas("text", "first", token, noreply=False) is True
    assert client.cas("text", "second", token, noreply=False) is False
    assert client.cas("missing", "x", token, noreply=False) is None
    assert client.get("text") == "first"
    assert client.set("number", "10", noreply=False)
    assert client.incr("number", 5) == 15 and client.decr("number", 20) == 0
    assert client.incr("missing", 1) is None
    try:
        client.incr("text", 1)
        raise AssertionError("a word was counted up")
    except MemcacheClientError:
        pass
    assert client.touch("number", 100, noreply=False) is True
    assert client.touch("missing", 100, noreply=False) is False
    assert client.delete("number", noreply=False) is True
    assert client.delete("number", noreply=False) is False
    # Nothing is answered, and what follows is in its place all the same.
    for i in range(1000):
        client.set("quiet", str(i), noreply=True)
    assert client.get("quiet") == "999"
    client.set("short", "x", expire=1, noreply=False)
    assert client.get("short") == "x"
    end = time.monotonic() + 60
    while client.get("short") is not None:
        assert time.monotonic() < end, "an item does not expire"
        time.sleep(0.1)
    large = "x" * 1_000_000
    assert client.set("large", large, noreply=False) and client.get("large") == large


plain = Client(address, serde=serde.pickle_serde, timeout=60)
everything(plain)
try:
    plain.set("too-large", "x" * 2_000_000, noreply=False)
    raise AssertionError("2 MB were stored")
except MemcacheServerError as error:
    assert "too large" in str(error)
assert plain.version().startswith(b"1.6.")
stats = plain.stats()
assert stats[b"curr_items"] > 200 and stats[b"get_hits"] > 200, stats
assert stats[b"limit_maxbytes"] == 64 << 20
assert plain.stats("settings") and plain.stats("items") is not None
plain.quit()

everything(PooledClient(address, serde=serde.pickle_serde, timeout=60, max_pool_size=4))
hashed = HashClient([address], serde=serde.pickle_serde, timeout=60)
hashed.set_many({"a": 1, "b": 2}, noreply=False)
assert hashed.get_many(["a", "b", "c"]) == {"a": 1, "b": 2}
print("pymemcache: content")
