package peer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.abdera.protocol.server.CollectionAdapter;
import org.apache.abdera.protocol.server.RequestContext;
import org.apache.abdera.protocol.server.Target;
import org.apache.abdera.protocol.server.TargetType;
import org.apache.abdera.protocol.server.WorkspaceInfo;
import org.apache.abdera.protocol.server.impl.AbstractWorkspaceProvider;
import org.apache.abdera.protocol.server.impl.RouteManager;
import org.apache.abdera.protocol.server.impl.SimpleWorkspaceInfo;

/** The publications, each a workspace with one collection of entries; made on first use. */
final class Publications extends AbstractWorkspaceProvider {
    private final Path folder;
    private final ConcurrentHashMap<String, EntryCollection> collections =
        new ConcurrentHashMap<>();
    private final AtomicInteger created = new AtomicInteger();

    Publications(Path folder) {
        this.folder = folder;
        RouteManager routes = new RouteManager();
        routes.addRoute("service", "/atom/:publication", TargetType.TYPE_SERVICE);
        routes.addRoute("entries", "/atom/:publication/entries", TargetType.TYPE_COLLECTION);
        routes.addRoute("entry", "/atom/:publication/entries/:entry", TargetType.TYPE_ENTRY);
        setTargetBuilder(routes);
        setTargetResolver(routes);
    }

    /** Makes one under a name that nobody has. */
    String create() {
        String name;
        do {
            name = "p" + created.incrementAndGet();
        } while (collections.containsKey(name));
        of(name);
        return name;
    }

    private EntryCollection of(String name) {
        return collections.computeIfAbsent(name, missing -> {
            try {
                Path place = folder.resolve(missing);
                Files.createDirectories(place);
                return new EntryCollection(missing, place);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        });
    }

    @Override
    public CollectionAdapter getCollectionAdapter(RequestContext request) {
        Target target = request.getTarget();
        String name = target == null ? null : target.getParameter("publication");
        return name == null ? null : of(name);
    }

    @Override
    public Collection<WorkspaceInfo> getWorkspaces(RequestContext request) {
        String name = request.getTarget().getParameter("publication");
        SimpleWorkspaceInfo workspace = new SimpleWorkspaceInfo(name);
        workspace.addCollection(of(name));
        return List.of(workspace);
    }
}
