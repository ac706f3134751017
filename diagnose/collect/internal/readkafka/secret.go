package readkafka

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/internal/secret"
)

// Secret is a text that never prints: every way of formatting it gives "***".
type Secret = secret.Text

// source is a secret that comes from a file or an environment variable.
type source struct {
	field, file, env string
	given            Secret
}

// load reads the secret anew each time, so that a rotated file takes effect at
// the next connection.
func (s source) load() (Secret, error) {
	switch {
	case s.given != "":
		return s.given, nil
	case s.file != "":
		b, err := os.ReadFile(s.file)
		if err != nil {
			return "", fmt.Errorf("%s_file: %w", s.field, unwrapPath(err))
		}
		v := strings.TrimRight(string(b), "\r\n")
		if v == "" {
			return "", fmt.Errorf("%s_file is empty", s.field)
		}
		return Secret(v), nil
	case s.env != "":
		v := os.Getenv(s.env)
		if v == "" {
			return "", fmt.Errorf("%s_env: the variable %s is not set", s.field, s.env)
		}
		return Secret(v), nil
	}
	return "", fmt.Errorf("%s_file or %s_env is missing", s.field, s.field)
}

// check reports a source that is given twice or not at all.
func (s source) check() error {
	n := 0
	for _, set := range []bool{s.given != "", s.file != "", s.env != ""} {
		if set {
			n++
		}
	}
	switch n {
	case 0:
		return fmt.Errorf("%s_file or %s_env is missing", s.field, s.field)
	case 1:
		return nil
	}
	return fmt.Errorf("%s_file and %s_env: give only one", s.field, s.field)
}

// unwrapPath drops the path from a file error: it may be shown in a thread.
func unwrapPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
