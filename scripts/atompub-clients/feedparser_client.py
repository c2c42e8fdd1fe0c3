"""Posts entries by HTTP alone and reads them by feedparser, as readers do: the collection, and the
public feeds that the publication's page names, in Atom and RSS."""

import json
import sys
import time
import urllib.request
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
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


class Links(HTMLParser):
    """The links in the head of a page, by their type."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "link" and "type" in attributes:
            self.found[attributes["type"]] = attributes["href"]


def read_in_public(service, titles):
    """Reads the feeds that the publication's page names."""
    # The page of the publication is where its service document is, without the last segment.
    home = service.rsplit("/", 1)[0]
    status, headers, text = ask(home)
    assert headers["Content-Type"].startswith("text/html"), headers
    links = Links()
    links.feed(text.decode())
    assert urljoin(home, links.found["application/atomsvc+xml"]) == service, links.found

    for media_type, version in [("application/atom+xml", "atom10"), ("application/rss+xml", "rss20")]:
        place = urljoin(home, links.found[media_type])
        public = feedparser.parse(place)
        assert not public.bozo, public.bozo_exception
        assert public.version == version, public.version
        assert [entry.title for entry in public.entries] == titles[::-1], public.entries
        assert public.feed.link == home, public.feed.link
        for entry in public.entries:
            assert entry.id and entry.author == "Zoë" and entry.updated_parsed or entry.published_parsed
            assert entry.content[0].value.startswith("<p>About "), entry.content
            status, headers, page = ask(entry.link)
            assert status == 200 and headers["Content-Type"].startswith("text/html"), entry.link
        again = feedparser.parse(place, etag=public.etag)
        assert again.status == 304 and not again.entries, again.status
        # A date that another write may still share is no reason to keep what there is; two seconds
        # after the last write it is that write's alone.
        for _ in range(100):
            again = feedparser.parse(place, modified=public.modified)
            if again.status == 304:
                break
            public = again
            time.sleep(0.1)
        assert again.status == 304, (again.status, public.modified)

    _, headers, text = ask(urljoin(home, links.found["application/feed+json"]))
    items = json.loads(text)["items"]
    assert [item["title"] for item in items] == titles[::-1], items


def check_bases(entries):
    """Whatever base a client states, the server's own links lead to the server (RFC 4287 §2)."""
    body = b"""<entry xmlns="http://www.w3.org/2005/Atom" xml:base="http://elsewhere.example/a/">
<title>Based</title><author><name>Zoe</name></author><link rel="related" href="r"/>
<content type="html">&lt;a href="c"&gt;c&lt;/a&gt;</content></entry>"""
    status, headers, _ = ask(entries, body, **{"Content-Type": ENTRY})
    based = feedparser.parse(entries).entries[0]
    links = {link.rel: link.href for link in based.links}
    assert status == 201 and links["edit"] == headers["Location"], (headers["Location"], links)
    assert links["related"] == "http://elsewhere.example/a/r", links
    assert 'href="http://elsewhere.example/a/c"' in based.content[0].value, based.content
    request = urllib.request.Request(links["edit"], method="DELETE")
    with urllib.request.urlopen(request, timeout=60) as reply:
        assert reply.status in (200, 204), reply.status


if "--public" in sys.argv[2:]:
    check_bases(entries)
    read_in_public(service, titles)
print("atompub-clients: feedparser:", len(feed.entries), "entries")
