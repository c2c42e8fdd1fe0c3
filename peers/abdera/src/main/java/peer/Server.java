package peer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.abdera.protocol.server.Provider;
import org.apache.abdera.protocol.server.servlet.AbderaServlet;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Abdera's server on Jetty, on loopback. It says `url ...` when it serves. */
public final class Server {
    /** Jetty's acceptors, selectors and workers; 100 connections of the benchmark keep one each. */
    private static final int THREADS = 150;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: Server FOLDER PORT");
            System.exit(2);
        }
        Publications publications = new Publications(Path.of(arguments[0]));
        publications.init(org.apache.abdera.Abdera.getInstance(), java.util.Map.of());
        org.eclipse.jetty.server.Server server =
            new org.eclipse.jetty.server.Server(new QueuedThreadPool(THREADS));
        org.eclipse.jetty.server.ServerConnector connector =
            new org.eclipse.jetty.server.ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(arguments[1]));
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new Creation(publications)), "/atom");
        context.addServlet(new ServletHolder(new Protocol(publications)), "/atom/*");
        server.setHandler(context);
        server.start();
        System.out.println("url http://127.0.0.1:" + connector.getLocalPort());
        System.out.flush();
        server.join();
    }

    /** Everything below a publication is Abdera's. */
    private static final class Protocol extends AbderaServlet {
        private static final long serialVersionUID = 1;
        private final transient Publications publications;

        Protocol(Publications publications) {
            this.publications = publications;
        }

        @Override
        protected Provider createProvider() {
            return publications;
        }
    }

    /** POST makes a publication, which the protocol leaves open (RFC 5023 §8). */
    private static final class Creation extends HttpServlet {
        private static final long serialVersionUID = 1;
        private final transient Publications publications;

        Creation(Publications publications) {
            this.publications = publications;
        }

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
            request.getInputStream().readAllBytes();
            String name = publications.create();
            String location = request.getRequestURL() + "/" + name;
            response.setStatus(HttpServletResponse.SC_CREATED);
            response.setHeader("Location", location);
            response.setContentType("text/plain");
            response.getOutputStream().write(location.getBytes(StandardCharsets.UTF_8));
        }
    }
}
