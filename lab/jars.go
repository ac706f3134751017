package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// agentVersion is the newest JMX exporter agent that resolves as a single jar
// (1.1.0 to 1.6.0 do not).
const agentVersion = "1.0.1"

//go:embed client/Client.java
var clientSource []byte

// jars is one version's files in the cache.
type jars struct {
	dir string
}

func (j jars) classPath() string { return filepath.Join(j.dir, "lib", "*") }
func (j jars) agent() string     { return filepath.Join(j.dir, "agent.jar") }

// clientPath is the class path of the Java client.
func (j jars) clientPath() string {
	return filepath.Join(j.dir, "classes", sourceID()) + string(os.PathListSeparator) + j.classPath()
}

func sourceID() string {
	sum := sha256.Sum256(clientSource)
	return fmt.Sprintf("%x", sum[:6])
}

// fetchJars makes sure that the cache holds Kafka's jars, the agent and the
// compiled client. Two labs starting at once share one download: the second
// waits at a file lock.
func fetchJars(ctx context.Context, o Options) (jars, error) {
	j := jars{dir: filepath.Join(o.Cache, "k"+o.Version)}
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return j, fmt.Errorf("making the jar cache: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(j.dir, "lock"))
	if err != nil {
		return j, err
	}
	defer unlock()
	begin := time.Now()
	if !exists(j.agent()) {
		if err := j.download(ctx, o.Version); err != nil {
			return j, err
		}
		o.Progress(fmt.Sprintf("jars of %s are there after %.1f s", o.Version, time.Since(begin).Seconds()))
	}
	return j, j.compile(ctx)
}

// download runs Maven once. The agent is moved out of lib last: its presence is
// the mark of a complete download.
func (j jars) download(ctx context.Context, version string) error {
	pom, err := renderPom(version, agentVersion)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(j.dir, "pom.xml"), pom, 0o644); err != nil {
		return fmt.Errorf("writing the pom: %w", err)
	}
	err = tool(ctx, j.dir, "mvn", "-q", "-B",
		"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime")
	if err != nil {
		return fmt.Errorf("fetching the jars of Kafka %s with Maven: %w", version, err)
	}
	from := filepath.Join(j.dir, "lib", "jmx_prometheus_javaagent-"+agentVersion+".jar")
	if err := os.Rename(from, j.agent()); err != nil {
		return fmt.Errorf("taking the JMX agent out of lib: %w", err)
	}
	return nil
}

// compile builds Client.java once per version and source; `java Client.java`
// would do it again at every start, 2 s each.
func (j jars) compile(ctx context.Context) error {
	out := filepath.Join(j.dir, "classes", sourceID())
	if exists(filepath.Join(out, "Client.class")) {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("making the class folder: %w", err)
	}
	src := filepath.Join(out, "Client.java")
	if err := os.WriteFile(src, clientSource, 0o644); err != nil {
		return fmt.Errorf("writing Client.java: %w", err)
	}
	if err := tool(ctx, out, "javac", "-proc:none", "-cp", j.classPath(), "-d", out, src); err != nil {
		return fmt.Errorf("compiling Client.java: %w", err)
	}
	return nil
}

// tool runs a program to its end; its last output becomes the error.
func tool(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(out.String(), 600))
	}
	return nil
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "… " + s[len(s)-n:]
	}
	return s
}

// lockFile takes an exclusive lock, waiting as long as ctx allows.
func lockFile(ctx context.Context, path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening lock %s: %w", path, err)
	}
	err = poll(ctx, 200*time.Millisecond, "lock "+path, func(context.Context) (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
