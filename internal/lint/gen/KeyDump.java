import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;

/**
 * Prints the configuration keys of the Kafka on the class path, one a line:
 * version, role, name, type, default, validator, "deprecated" or nothing.
 * The one argument is the version. gen.sh runs it.
 */
public class KeyDump {
    private static final List<Map.Entry<String, String>> CLASSES = List.of(
        Map.entry("consumer", "org.apache.kafka.clients.consumer.ConsumerConfig"),
        Map.entry("producer", "org.apache.kafka.clients.producer.ProducerConfig"),
        Map.entry("admin", "org.apache.kafka.clients.admin.AdminClientConfig"),
        Map.entry("streams", "org.apache.kafka.streams.StreamsConfig"),
        Map.entry("connect", "org.apache.kafka.connect.runtime.distributed.DistributedConfig"),
        Map.entry("connect", "org.apache.kafka.connect.runtime.standalone.StandaloneConfig"),
        Map.entry("broker", "kafka.server.KafkaConfig"));

    public static void main(String[] args) {
        for (Map.Entry<String, String> c : CLASSES) {
            try {
                print(args[0], c.getKey(), definition(Class.forName(c.getValue())));
            } catch (ReflectiveOperationException e) {
                System.err.println(args[0] + " " + c.getValue() + ": " + e);
            }
        }
    }

    private static void print(String version, String role, ConfigDef def) {
        for (ConfigDef.ConfigKey k : def.configKeys().values()) {
            String doc = text(k.documentation).toLowerCase();
            // Words about this key, not about one of its values.
            boolean deprecated = doc.startsWith("deprecated") || doc.startsWith("(deprecated") || doc.contains("this config is deprecated")
                || doc.contains("this configuration is deprecated") || doc.contains("this property is deprecated");
            String value = k.defaultValue == ConfigDef.NO_DEFAULT_VALUE ? "" : text(k.defaultValue);
            System.out.println(String.join("\t", version, role, k.name, k.type().name(), value, text(k.validator), deprecated ? "deprecated" : ""));
        }
    }

    /** Finds the definition, which has stood in five places over the versions. */
    private static ConfigDef definition(Class<?> c) throws ReflectiveOperationException {
        for (Method m : c.getDeclaredMethods()) {
            boolean crypto = m.getParameterCount() == 1 && m.getParameterTypes()[0].getSimpleName().equals("Crypto");
            if (m.getReturnType() == ConfigDef.class && Modifier.isStatic(m.getModifiers()) && (m.getParameterCount() == 0 || crypto)) {
                m.setAccessible(true);
                return (ConfigDef) (crypto ? m.invoke(null, m.getParameterTypes()[0].getField("SYSTEM").get(null)) : m.invoke(null));
            }
        }
        for (Class<?> s = c; s != null; s = s.getSuperclass()) {
            for (Field f : s.getDeclaredFields()) {
                if (f.getType() == ConfigDef.class && Modifier.isStatic(f.getModifiers())) {
                    f.setAccessible(true);
                    return (ConfigDef) f.get(null);
                }
            }
        }
        Class<?> companion = Class.forName(c.getName() + "$"); // a Scala object
        for (Field f : companion.getDeclaredFields()) {
            if (f.getType() == ConfigDef.class) {
                f.setAccessible(true);
                return (ConfigDef) f.get(companion.getField("MODULE$").get(null));
            }
        }
        throw new NoSuchFieldException("no ConfigDef in " + c.getName());
    }

    private static String text(Object o) {
        return o == null ? "" : o.toString().replaceAll("\\s+", " ");
    }
}
