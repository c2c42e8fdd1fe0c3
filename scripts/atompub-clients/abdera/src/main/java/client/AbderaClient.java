package client;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Date;
import javax.xml.namespace.QName;
import org.apache.abdera.Abdera;
import org.apache.abdera.model.Collection;
import org.apache.abdera.model.Document;
import org.apache.abdera.model.Entry;
import org.apache.abdera.model.Feed;
import org.apache.abdera.model.Service;
import org.apache.abdera.model.Workspace;
import org.apache.abdera.protocol.client.ClientResponse;
import org.apache.abdera.protocol.client.RequestOptions;

/** What a program does with Abdera's client: publishes, reads, changes and removes. */
public final class AbderaClient {
    private static final QName SUBJECT = new QName("http://purl.org/dc/elements/1.1/", "subject");
    private static final Abdera ABDERA = Abdera.getInstance();
    private static final org.apache.abdera.protocol.client.AbderaClient CLIENT =
        new org.apache.abdera.protocol.client.AbderaClient(ABDERA);

    private static void check(boolean isGood, String what) {
        if (!isGood) {
            throw new AssertionError(what);
        }
    }

    private static <T extends org.apache.abdera.model.Element> T get(String uri) {
        RequestOptions fresh = CLIENT.getDefaultRequestOptions();
        fresh.setNoCache(true);
        ClientResponse response = CLIENT.get(uri, fresh);
        check(response.getStatus() == 200, "GET " + uri + ": " + response.getStatus());
        Document<T> document = response.getDocument();
        T root = document.getRoot();
        root.complete();
        response.release();
        return root;
    }

    private static String collection(String serviceUri, String type) throws Exception {
        ClientResponse response = CLIENT.get(serviceUri);
        check(response.getStatus() == 200, "the service document: " + response.getStatus());
        check(
            response.getContentType().match("application/atomsvc+xml"),
            "it is a service document");
        Document<Service> document = response.getDocument(ABDERA.getParser());
        for (Workspace workspace : document.getRoot().getWorkspaces()) {
            check(workspace.getTitle() != null, "a workspace has a title");
            for (Collection one : workspace.getCollections()) {
                if (one.accepts(type)) {
                    String uri = one.getResolvedHref().toString();
                    response.release();
                    return new java.net.URI(serviceUri).resolve(uri).toString();
                }
            }
        }
        throw new AssertionError("no collection takes " + type);
    }

    private static void entries(String uri) throws Exception {
        Entry entry = ABDERA.newEntry();
        entry.setTitle("Bücher & <Leser>");
        entry.setId("urn:uuid:" + java.util.UUID.randomUUID());
        entry.setUpdated(new Date());
        entry.addAuthor("Zoë");
        entry.setContentAsXhtml("<p>It was <b>open</b> until nine.</p>");
        entry.addSimpleExtension(SUBJECT, "kept");
        RequestOptions options = CLIENT.getDefaultRequestOptions().setSlug("B\u00fccher");
        ClientResponse posted = CLIENT.post(uri, entry, options);
        check(posted.getStatus() == 201, "POST: " + posted.getStatus());
        check(posted.getLocation() != null, "POST has a Location");
        String member = new java.net.URI(uri).resolve(posted.getLocation().toString()).toString();
        Document<Entry> stored = posted.getDocument();
        check(stored.getRoot().getTitle().equals("Bücher & <Leser>"), "the reply is the entry");
        posted.release();

        Entry got = get(member);
        check(got.getTitle().equals("Bücher & <Leser>"), "the title is kept: " + got.getTitle());
        check(got.getContent().contains("<b>open</b>"), "the content is kept: " + got.getContent());
        check("kept".equals(got.getSimpleExtension(SUBJECT)), "foreign markup is kept");
        check(got.getEditLink() != null && got.getEdited() != null, "edit link and app:edited");

        got.setTitle("Changed");
        ClientResponse put = CLIENT.put(member, got);
        check(put.getStatus() == 200 || put.getStatus() == 204, "PUT: " + put.getStatus());
        put.release();
        Entry changed = get(member);
        check(changed.getTitle().equals("Changed"), "the change is there");
        check(changed.getId().equals(got.getId()), "the id stays");
        check("kept".equals(changed.getSimpleExtension(SUBJECT)), "foreign markup outlives a change");

        Feed feed = get(uri);
        check(feed.getEntries().size() == 1, "the feed has one entry");
        check(feed.getEntries().get(0).getTitle().equals("Changed"), "and it is this");

        ClientResponse deleted = CLIENT.delete(member);
        check(deleted.getStatus() / 100 == 2, "DELETE: " + deleted.getStatus());
        deleted.release();
        ClientResponse gone = CLIENT.get(member);
        check(gone.getStatus() == 404 || gone.getStatus() == 410, "GET: " + gone.getStatus());
        gone.release();
    }

    private static void media(String uri) throws Exception {
        byte[] picture = new byte[100_000];
        byte[] head = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
        System.arraycopy(head, 0, picture, 0, head.length);
        RequestOptions options = CLIENT.getDefaultRequestOptions();
        options.setContentType("image/png").setSlug("A picture");
        ClientResponse posted = CLIENT.post(uri, new ByteArrayInputStream(picture), options);
        check(posted.getStatus() == 201, "POST of a picture: " + posted.getStatus());
        String member = new java.net.URI(uri).resolve(posted.getLocation().toString()).toString();
        posted.release();
        Entry link = get(member);
        check(link.getEditMediaLinkResolvedHref() != null, "an edit-media link");
        String source = link.getContentElement().getResolvedSrc().toString();
        source = new java.net.URI(member).resolve(source).toString();
        ClientResponse got = CLIENT.get(source);
        check(got.getStatus() == 200, "GET of the picture: " + got.getStatus());
        try (InputStream bytes = got.getInputStream()) {
            check(Arrays.equals(bytes.readAllBytes(), picture), "the same bytes");
        }
        got.release();
        ClientResponse deleted = CLIENT.delete(member);
        check(deleted.getStatus() / 100 == 2, "DELETE: " + deleted.getStatus());
        deleted.release();
    }

    public static void main(String[] arguments) throws Exception {
        entries(collection(arguments[0], "application/atom+xml;type=entry"));
        if (arguments.length == 1) {
            media(collection(arguments[0], "image/png"));
        }
        System.out.println("atompub-clients: Abdera's client: published, changed and removed");
    }
}
