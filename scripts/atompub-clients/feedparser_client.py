"""Posts entries by HTTP alone and reads the collection's feed by feedparser, as readers do."""

import sys
import urllib.request
import xml.etree.ElementTree as ElementTree
from urllib.parse import urljoin

import feedparser

service = sys.argv[1]
APP = "{http://www.w3.org/2007/app}"
ENTRY = "application/atom+xml;type=entry"


def ask(url, body=None, **headers):
    request = urllib.request.Request(url, data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.status, reply.headers, reply.read()


def is_of_entries(collection):
    accepts = [accept.text or "" for accept in collection.iter(APP + "accept")]
    return not accepts or any("atom+xml" in accept for accept in accepts)


_, _, text = ask(service)
collections = [c for c in ElementTree.fromstring(text).iter(APP + "collection") if is_of_entries(c)]
href = collections[0].get("href")
entries = urljoin(service, href)

titles = ["Plain", "Q&A <tags>", "東京の図書館", "\U0001f600 beyond the plane"]
for title in titles:
    escaped = title.replace("&", "&amp;").replace("<", "&lt;")
    body = f"""<?xml version="1.0" encoding="utf-8"?>
<entry xmlns="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/">
<title>{escaped}</title><author><name>Zoë</name></author>
<category term="tests" scheme="http://example.org/"/><dc:subject>kept</dc:subject>
<content type="html">&lt;p&gt;About {escaped.replace("&", "&amp;")}&lt;/p&gt;</content>
</entry>"""
    status, headers, _ = ask(entries, body.encode(), **{"Content-Type": ENTRY})
    assert status == 201 and headers["Location"], (status, headers)

feed = feedparser.parse(entries)
assert not feed.bozo, feed.bozo_exception
assert feed.version == "atom10", feed.version
assert feed.feed.id and feed.feed.title and feed.feed.updated_parsed
assert [entry.title for entry in feed.entries] == titles[::-1], [e.title for e in feed.entries]
for entry in feed.entries:
    assert entry.id and entry.updated_parsed, entry
    assert entry.author == "Zoë", entry.author
    assert entry.tags[0].term == "tests" and entry.tags[0].scheme == "http://example.org/"
    assert "kept" in (entry.get("dc_subject") or entry.tags[-1].term), entry
    assert entry.content[0].type == "text/html", entry.content
    assert entry.content[0].value.startswith("<p>About "), entry.content

# A reader that has the feed is told that it has not changed.
if feed.get("etag"):
    again = feedparser.parse(entries, etag=feed.etag)
    assert again.status == 304 and not again.entries, again.status
print("atompub-clients: feedparser:", len(feed.entries), "entries")
