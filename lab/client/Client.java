import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * The lab's Java consumers. One process holds one or more consumers:
 *
 *   java Client --topic T [--prop key=value ...] [--assign true] --member GROUP/CLIENTID ...
 *
 * With --assign every consumer takes all partitions by hand and is in no group.
 *
 * Events go to standard output, one JSON object a line; Kafka's own log goes to
 * standard error. Commands come on standard input:
 *
 *   stall CLIENTID MILLIS   do not call poll() for that long, as slow processing would
 *   slow CLIENTID MILLIS    sleep that long after every poll
 *   block CLIENTID MILLIS   sleep that long in the next onPartitionsRevoked, as a flush that hangs would
 *   close CLIENTID          close one consumer cleanly
 *   abandon CLIENTID        close without a LeaveGroup, as Kafka Streams does
 *   quit                    close all and end (end of input does the same)
 */
public class Client {
  static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();
  static boolean assign;

  public static void main(String[] args) throws Exception {
    Properties base = new Properties();
    base.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
    base.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
    String topic = null;
    List<String> members = new ArrayList<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      String value = args[i + 1];
      switch (args[i]) {
        case "--topic": topic = value; break;
        case "--assign": assign = Boolean.parseBoolean(value); break;
        case "--member": members.add(value); break;
        case "--prop":
          int eq = value.indexOf('=');
          base.put(value.substring(0, eq), value.substring(eq + 1));
          break;
        default: throw new IllegalArgumentException("unknown option " + args[i]);
      }
    }
    for (String m : members) {
      int slash = m.lastIndexOf('/');
      Member member = new Member(base, topic, m.substring(0, slash), m.substring(slash + 1));
      MEMBERS.put(member.clientId, member);
    }
    MEMBERS.values().forEach(Thread::start);
    commands();
    for (Member m : MEMBERS.values()) m.quit();
    for (Member m : MEMBERS.values()) m.join(20000);
    say("ended", null, "");
    System.exit(0);
  }

  static void commands() throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      String[] w = line.trim().split(" ");
      Member m = w.length > 1 ? MEMBERS.get(w[1]) : null;
      if (w[0].equals("quit")) return;
      if (m == null) say("error", null, ",\"text\":" + quote("no member for: " + line));
      else if (w[0].equals("stall")) m.stallMillis.set(Long.parseLong(w[2]));
      else if (w[0].equals("slow")) m.slowMillis = Long.parseLong(w[2]);
      else if (w[0].equals("block")) m.blockMillis.set(Long.parseLong(w[2]));
      else if (w[0].equals("abandon")) m.abandon();
      else if (w[0].equals("close")) m.quit();
    }
  }

  static synchronized void say(String event, Member m, String more) {
    String who = m == null ? "" : ",\"group\":" + quote(m.group) + ",\"client_id\":" + quote(m.clientId);
    System.out.println("{\"t\":" + System.currentTimeMillis() + ",\"event\":\"" + event + "\"" + who + more + "}");
    System.out.flush();
  }

  static String quote(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : String.valueOf(s).toCharArray()) {
      if (c == '"' || c == '\\') b.append('\\').append(c);
      else if (c < 32 || c > 126) b.append(String.format("\\u%04x", (int) c));
      else b.append(c);
    }
    return b.append('"').toString();
  }

  static final class Member extends Thread implements ConsumerRebalanceListener {
    final String group;
    final String clientId;
    final AtomicLong stallMillis = new AtomicLong();
    final AtomicLong blockMillis = new AtomicLong();
    private volatile boolean stay;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;
    private volatile boolean done;
    volatile long slowMillis;

    Member(Properties base, String topic, String group, String clientId) {
      super("member-" + clientId);
      this.group = group;
      this.clientId = clientId;
      this.topic = topic;
      Properties p = new Properties();
      p.putAll(base);
      p.put("client.id", clientId);
      if (assign) p.put("enable.auto.commit", "false");
      else p.put("group.id", group);
      consumer = new KafkaConsumer<>(p);
    }

    void abandon() {
      stay = true;
      quit();
    }

    void quit() {
      done = true;
      consumer.wakeup();
    }

    @Override
    public void run() {
      if (assign) assignAll();
      else consumer.subscribe(List.of(topic), this);
      say("started", this, "");
      try {
        while (!done) once();
      } catch (org.apache.kafka.common.errors.WakeupException e) {
        // asked to close
      } catch (Exception e) {
        say("failed", this, ",\"text\":" + quote(e.toString()));
      }
      try {
        if (stay) closeWithoutLeaving();
        else consumer.close(Duration.ofSeconds(10));
      } catch (Exception e) {
        say("failed", this, ",\"text\":" + quote(e.toString()));
      }
      say("closed", this, "");
    }

    private void assignAll() {
      List<TopicPartition> all = new ArrayList<>();
      consumer.partitionsFor(topic).forEach(p -> all.add(new TopicPartition(topic, p.partition())));
      consumer.assign(all);
      say("assigned", this, detail(all));
    }

    /**
     * Clients from 4.1 on have CloseOptions for it (KIP-1092), looked up by name because
     * this file is compiled against older ones, too; those had a setting (see clientProps).
     */
    private void closeWithoutLeaving() throws Exception {
      Class<?> options;
      try {
        options = Class.forName("org.apache.kafka.clients.consumer.CloseOptions");
      } catch (ClassNotFoundException e) {
        consumer.close(Duration.ofSeconds(10));
        return;
      }
      Class<?> op = Class.forName("org.apache.kafka.clients.consumer.CloseOptions$GroupMembershipOperation");
      Object remain = op.getField("REMAIN_IN_GROUP").get(null);
      Object o = options.getMethod("groupMembershipOperation", op).invoke(null, remain);
      consumer.getClass().getMethod("close", options).invoke(consumer, o);
    }

    /** One poll. A refused commit does not end a real application's loop either. */
    private void once() throws Exception {
      try {
        ConsumerRecords<byte[], byte[]> ignored = consumer.poll(Duration.ofMillis(500));
      } catch (org.apache.kafka.clients.consumer.CommitFailedException e) {
        say("commit_failed", this, ",\"text\":" + quote(e.toString()));
      }
      Thread.sleep(slowMillis);
      long stall = stallMillis.getAndSet(0);
      if (stall > 0) {
        say("stall", this, ",\"ms\":" + stall);
        Thread.sleep(stall);
        say("stall_over", this, "");
      }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> ps) {
      say("assigned", this, detail(ps));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> ps) {
      say("revoked", this, detail(ps));
      long block = ps.isEmpty() ? 0 : blockMillis.getAndSet(0);
      if (block > 0) {
        say("block", this, ",\"ms\":" + block);
        try {
          Thread.sleep(block);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
        say("block_over", this, "");
      }
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> ps) {
      say("lost", this, detail(ps));
    }

    private String detail(Collection<TopicPartition> ps) {
      String id = "";
      try {
        id = consumer.groupMetadata().memberId();
      } catch (Exception e) {
        // not known while joining
      }
      StringBuilder b = new StringBuilder(",\"member_id\":" + quote(id) + ",\"partitions\":[");
      String sep = "";
      for (TopicPartition p : ps) {
        b.append(sep).append(p.partition());
        sep = ",";
      }
      return b.append("]").toString();
    }
  }
}
