package alertmanager

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Tokens are the bearer tokens that may post. Several stand side by side while
// one replaces another. Only digests are kept: the value cannot be printed.
type Tokens struct{ digests [][sha256.Size]byte }

// NewTokens takes the tokens' texts; empty ones are left out.
func NewTokens(texts []string) Tokens {
	var t Tokens
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			t.digests = append(t.digests, sha256.Sum256([]byte(s)))
		}
	}
	return t
}

// Required reports whether a token is asked for at all.
func (t Tokens) Required() bool { return len(t.digests) > 0 }

// Allow reports whether a request carries one of the tokens. The time it takes
// does not depend on how much of a token was right.
func (t Tokens) Allow(r *http.Request) bool {
	if !t.Required() {
		return true
	}
	scheme, text, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got := sha256.Sum256([]byte(strings.TrimSpace(text)))
	ok := 0
	for _, want := range t.digests {
		ok |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return ok == 1
}
