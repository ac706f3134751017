import java.io.StringReader;
import java.util.Properties;
import java.util.TreeSet;

/** Writes java.json: texts and what java.util.Properties reads from them. Run: java Recorder.java > java.json */
public class Recorder {
    public static void main(String[] args) {
        String[] texts = {
            "a=1", "a = 1 ", " a:1", "a 1", "a\t1", "a", "a=", "=1", "a==1", "a:=1", "a = = 1", "#a=1", "!a=1", "  # a", "a=#1",
            "a=1 # no comment", "a\\ b=1", "a\\=b=1", "a\\:b:1", "a=1\\\n2", "a=1\\\n   2", "a=1\\\\\nb=2", "a=1\\\\\\\n  2", "a=1\\",
            "a=\\u0041", "a=\\u00", "a=\\u+041", "a=\\t\\n\\r\\f\\x\\\\", "a=1\r\nb=2\rc=3\n", "\\\na=1", "a=1\\\n\nb=2", "a=1\\\n#b", "a\\\n=1", "a\\\n b=1",
            "\f a=1", "a=1\na=2", "\n\n \na=1", "# c\\\na=1", "a= \\ 1", "a\\u003db=1", "a\\u0020b=1", "a=\u00e9", "a=\\ud83d\\ude00", "[s]", "a=\\\n\\\n1", "a\\",
        };
        System.out.println("[");
        for (int i = 0; i < texts.length; i++) {
            StringBuilder b = new StringBuilder("{\"text\":" + quoted(texts[i]));
            try {
                Properties p = new Properties();
                p.load(new StringReader(texts[i]));
                b.append(",\"pairs\":{");
                String comma = "";
                for (String k : new TreeSet<>(p.stringPropertyNames())) {
                    b.append(comma).append(quoted(k)).append(":").append(quoted(p.getProperty(k)));
                    comma = ",";
                }
                b.append("}}");
            } catch (Exception e) {
                b.append(",\"refused\":true}");
            }
            System.out.println(b + (i + 1 < texts.length ? "," : ""));
        }
        System.out.println("]");
    }

    private static String quoted(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            b.append(c < 32 || c > 126 || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return b.append("\"").toString();
    }
}
