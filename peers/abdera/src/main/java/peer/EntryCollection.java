package peer;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Date;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.abdera.Abdera;
import org.apache.abdera.model.Document;
import org.apache.abdera.model.Entry;
import org.apache.abdera.model.Feed;
import org.apache.abdera.parser.ParseException;
import org.apache.abdera.protocol.server.ProviderHelper;
import org.apache.abdera.protocol.server.RequestContext;
import org.apache.abdera.protocol.server.ResponseContext;
import org.apache.abdera.protocol.server.context.EmptyResponseContext;
import org.apache.abdera.protocol.server.context.ResponseContextException;
import org.apache.abdera.protocol.server.impl.AbstractCollectionAdapter;

/**
 * Entries as files of a folder, one each, and their order in memory, so that a page of the feed
 * reads its own entries only. The adapter for files that Abdera ships reads every file for every
 * feed, names the wrong address in `next`, and refuses a second entry with the same Slug.
 */
final class EntryCollection extends AbstractCollectionAdapter {
    private static final int PAGE = 25;

    private final String name;
    private final Path folder;
    /** Names by the time of their last change, which is another for each. */
    private final ConcurrentSkipListMap<Long, String> order = new ConcurrentSkipListMap<>();
    private final Map<String, Long> edited = new ConcurrentHashMap<>();
    private final AtomicLong clock = new AtomicLong();
    private final AtomicLong version = new AtomicLong();
    private final AtomicLong names = new AtomicLong();

    EntryCollection(String name, Path folder) {
        this.name = name;
        this.folder = folder;
        setHref("/atom/" + name + "/entries");
    }

    @Override
    public String getTitle(RequestContext request) {
        return name;
    }

    @Override
    public String getAuthor(RequestContext request) {
        return "peer";
    }

    @Override
    public String getId(RequestContext request) {
        return "tag:peer.invalid,2026:" + name;
    }

    @Override
    public String getHref(RequestContext request) {
        return getHref();
    }

    private String address(String entry) {
        return getHref() + "/" + entry;
    }

    @Override
    public ResponseContext postEntry(RequestContext request) {
        try {
            Entry entry = getEntryFromRequest(request);
            if (entry == null) {
                return ProviderHelper.badrequest(request, "no entry");
            }
            String member = "e" + names.incrementAndGet();
            store(member, entry, request);
            ResponseContext response =
                ProviderHelper.returnBase(entry, 201, entry.getEdited());
            response.setLocation(request.getResolvedUri().resolve(address(member)).toString());
            return response;
        } catch (ResponseContextException error) {
            return error.getResponseContext();
        } catch (ParseException error) {
            return ProviderHelper.badrequest(request, "not well-formed");
        } catch (IOException error) {
            return ProviderHelper.servererror(request, error);
        }
    }

    private void store(String member, Entry entry, RequestContext request) throws IOException {
        long now = clock.updateAndGet(last -> Math.max(last + 1, System.currentTimeMillis()));
        entry.setEdited(new Date(now));
        if (entry.getIdElement() == null) {
            entry.newId();
        }
        if (entry.getUpdatedElement() == null) {
            entry.setUpdated(new Date(now));
        }
        if (entry.getEditLink() == null) {
            entry.addLink(address(member), "edit");
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(2048);
        entry.writeTo(bytes);
        Files.write(folder.resolve(member), bytes.toByteArray());
        Long before = edited.put(member, now);
        order.put(now, member);
        if (before != null) {
            order.remove(before);
        }
        version.incrementAndGet();
    }

    private Entry load(String member) throws IOException {
        byte[] bytes = Files.readAllBytes(folder.resolve(member));
        Document<Entry> document =
            Abdera.getInstance().getParser().parse(new ByteArrayInputStream(bytes));
        return document.getRoot();
    }

    @Override
    public ResponseContext getEntry(RequestContext request) {
        try {
            String member = request.getTarget().getParameter("entry");
            if (!edited.containsKey(member)) {
                return ProviderHelper.notfound(request);
            }
            Entry entry = load(member);
            return ProviderHelper.returnBase(entry, 200, entry.getEdited());
        } catch (NoSuchFileException error) {
            return ProviderHelper.notfound(request);
        } catch (IOException error) {
            return ProviderHelper.servererror(request, error);
        }
    }

    @Override
    public ResponseContext putEntry(RequestContext request) {
        try {
            String member = request.getTarget().getParameter("entry");
            if (!edited.containsKey(member)) {
                return ProviderHelper.notfound(request);
            }
            Entry entry = getEntryFromRequest(request);
            store(member, entry, request);
            return new EmptyResponseContext(204);
        } catch (ResponseContextException error) {
            return error.getResponseContext();
        } catch (ParseException error) {
            return ProviderHelper.badrequest(request, "not well-formed");
        } catch (IOException error) {
            return ProviderHelper.servererror(request, error);
        }
    }

    @Override
    public ResponseContext deleteEntry(RequestContext request) {
        String member = request.getTarget().getParameter("entry");
        Long before = edited.remove(member);
        if (before == null) {
            return ProviderHelper.notfound(request);
        }
        order.remove(before);
        version.incrementAndGet();
        try {
            Files.deleteIfExists(folder.resolve(member));
        } catch (IOException error) {
            return ProviderHelper.servererror(request, error);
        }
        return new EmptyResponseContext(204);
    }

    @Override
    public ResponseContext getFeed(RequestContext request) {
        String after = request.getParameter("after");
        String tag = "\"" + version.get() + "-" + after + "\"";
        if (tag.equals(request.getHeader("If-None-Match"))) {
            ResponseContext unchanged = new EmptyResponseContext(304);
            unchanged.setHeader("ETag", tag);
            return unchanged;
        }
        try {
            NavigableMap<Long, String> from = order.descendingMap();
            if (after != null) {
                from = from.tailMap(Long.parseLong(after), false);
            }
            Feed feed = createFeedBase(request);
            int count = 0;
            Long last = null;
            for (Map.Entry<Long, String> one : from.entrySet()) {
                if (count == PAGE) {
                    feed.addLink(getHref() + "?after=" + last, "next");
                    break;
                }
                try {
                    feed.addEntry((Entry) load(one.getValue()).clone());
                } catch (NoSuchFileException gone) {
                    continue;
                }
                last = one.getKey();
                count++;
            }
            ResponseContext response = ProviderHelper.returnBase(feed, 200, feed.getUpdated());
            response.setHeader("ETag", tag);
            return response;
        } catch (ResponseContextException error) {
            return error.getResponseContext();
        } catch (NumberFormatException error) {
            return ProviderHelper.badrequest(request, "`after` is a number");
        } catch (IOException error) {
            return ProviderHelper.servererror(request, error);
        }
    }
}
