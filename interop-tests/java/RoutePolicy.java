import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import keyroute.Policy;
import keyroute.RefusedException;
import org.apache.kafka.common.config.ConfigException;

/**
 * Where keyroute-partitioner.jar puts keys. Reads POLICY TAB TOPIC TAB PARTITIONS TAB KEY (hexadecimal) a line; prints one
 * partition a line, or "refused", "no rule", or what is wrong with the policy.
 */
public final class RoutePolicy {
    public static void main(String[] args) throws Exception {
        Map<String, Policy> policies = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line; (line = in.readLine()) != null; ) {
            String[] part = line.split("\t", -1);
            try {
                Policy policy = policies.computeIfAbsent(part[0], file -> Policy.load(Path.of(file)));
                Policy.Rule rule = policy.rule(part[1]);
                out.append(rule == null ? "no rule"
                    : "" + rule.partition(HexFormat.of().parseHex(part[3]), Integer.parseInt(part[2])));
            } catch (RefusedException e) {
                out.append("refused");
            } catch (ConfigException e) {
                out.append(e.getMessage());
            } catch (RuntimeException e) {
                out.append("neither routed nor refused: " + e);
            }
            out.append('\n');
        }
        System.out.print(out);
    }
}
