package peer;

import com.vmware.xenon.common.Operation;
import com.vmware.xenon.common.ServiceDocument;
import com.vmware.xenon.common.ServiceDocumentDescription.PropertyIndexingOption;
import com.vmware.xenon.common.StatefulService;

/** A document with the fields that every side of the benchmark has, kept in Xenon's index. */
public class DocumentService extends StatefulService {
    /** The document. Xenon adds its own fields, about 250 bytes. */
    public static class State extends ServiceDocument {
        public String nonce;
        public String group;
        public Long hits;

        /** Nothing asks for it, so it is only stored: less work for Xenon. */
        @PropertyOptions(indexing = PropertyIndexingOption.STORE_ONLY)
        public String text;
    }

    /** What a PATCH says: members to replace, and what to add to `hits`. */
    public static class Change extends State {
        public Long add;
    }

    public DocumentService() {
        super(State.class);
        // No REPLICATION and no OWNER_SELECTION: the cheapest that is kept on disk.
        toggleOption(ServiceOption.PERSISTENCE, true);
    }

    @Override
    public void handlePut(Operation put) {
        if (!put.hasBody()) {
            put.fail(new IllegalArgumentException("a PUT needs a body"));
            return;
        }
        setState(put, put.getBody(State.class));
        put.complete();
    }

    @Override
    public void handlePatch(Operation patch) {
        if (!patch.hasBody()) {
            patch.fail(new IllegalArgumentException("a PATCH needs a body"));
            return;
        }
        State state = getState(patch);
        Change change = patch.getBody(Change.class);
        state.nonce = change.nonce == null ? state.nonce : change.nonce;
        state.group = change.group == null ? state.group : change.group;
        state.text = change.text == null ? state.text : change.text;
        state.hits = change.hits == null ? state.hits : change.hits;
        if (change.add != null) {
            state.hits = (state.hits == null ? 0 : state.hits) + change.add;
        }
        patch.setBody(state);
        patch.complete();
    }
}
