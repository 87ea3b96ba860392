package keyroute;

import org.apache.kafka.common.errors.ApiException;

/** A record that the policy gives no place: its future fails and its callback is called, as with any failed record. */
public final class RefusedException extends ApiException {
    private static final long serialVersionUID = 1L;

    RefusedException(String why) {
        super(why);
    }
}
