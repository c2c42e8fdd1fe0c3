package peer;

import com.vmware.xenon.common.FactoryService;
import com.vmware.xenon.common.Operation;
import com.vmware.xenon.common.Service;
import com.vmware.xenon.common.ServiceHost;
import com.vmware.xenon.common.UriUtils;
import com.vmware.xenon.services.common.RootNamespaceService;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One Xenon node on loopback with three factories of documents. It says `url ...` when it serves. */
public final class Host extends ServiceHost {
    private static final int START_S = 60;

    /** A factory needs a class of its own for its children. */
    public static class ListedService extends DocumentService { }

    /** The same for documents that are made by POST. */
    public static class CreatedService extends DocumentService { }

    public static void main(String[] arguments) throws Throwable {
        if (arguments.length != 3 && arguments.length != 6) {
            System.err.println(
                "usage: Host SANDBOX PORT MAINTENANCE_MS [TLS_PORT CERTIFICATE KEY]");
            System.exit(2);
        }
        Arguments with = new Arguments();
        with.id = "peer";
        with.bindAddress = "127.0.0.1";
        with.sandbox = Path.of(arguments[0]);
        with.port = Integer.parseInt(arguments[1]);
        if (arguments.length == 6) {
            with.securePort = Integer.parseInt(arguments[3]);
            with.certificateFile = Path.of(arguments[4]);
            with.keyFile = Path.of(arguments[5]);
        }
        Host host = new Host();
        host.initialize(with);
        // The index is committed, and so synced, at every fifth of these.
        host.setMaintenanceIntervalMicros(
            TimeUnit.MILLISECONDS.toMicros(Long.parseLong(arguments[2])));
        Runtime.getRuntime().addShutdownHook(new Thread(host::stop));
        host.start();
        host.startDefaultCoreServicesSynchronously();
        host.startService(
            Operation.createPost(UriUtils.buildUri(host, RootNamespaceService.class)),
            new RootNamespaceService());
        host.serve("/db/documents", DocumentService.class);
        host.serve("/db/listed", ListedService.class);
        host.serve("/db/created", CreatedService.class);
        System.out.println("url " + host.getUri());
        System.out.flush();
    }

    private void serve(String path, Class<? extends Service> documents) throws Exception {
        FactoryService factory = FactoryService.create(documents);
        startService(Operation.createPost(UriUtils.buildUri(this, path)), factory);
        CountDownLatch available = new CountDownLatch(1);
        registerForServiceAvailability((operation, failure) -> available.countDown(), path);
        if (!available.await(START_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException(path + " was not available after " + START_S + " s");
        }
    }
}
