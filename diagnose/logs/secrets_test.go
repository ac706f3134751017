package logs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const secretLine = `2031-03-01 10:00:05,120 WARN [Consumer clientId=a, groupId=g] consumer poll timeout has expired. `

// Nothing that reads as a secret is repeated, whatever it is written in.
func TestSecretsInEveryForm(t *testing.T) {
	for _, secret := range []string{
		`password="a\"HIDEME"`, `password="a\\\"b HIDEME" x`, `password='a\'HIDEME'`, `{"pass":"HIDEME","a":1}`, `"pass": "a\"HIDEME"`,
		`{\"password\":\"HIDE ME\"}`, `dsn=root:HIDEME@tcp(db:3306)/orders`, `root:p@ss/HIDEME@tcp(db:3306)/orders`, `u:HIDEME@unix(/run/x.sock)/a`,
		`url=https://user:p@HIDEME@host/x`, `slack xoxb-12345-HIDEME said`, `xapp-1-HIDEME`, `cloned with ghp_HIDEMEHIDEMEHIDEME0123456789`,
		`AKIAHIDEMEHIDEME1234`, `-----BEGIN RSA PRIVATE KEY-----\nHIDEME\n-----END RSA PRIVATE KEY-----`, `-----BEGIN PRIVATE KEY----- HIDEME`,
		`apiKey=HIDEME123`, `apiKey="HIDEME"`, `api-key: HIDEME`, `sent eyJhbGciOiJub25l.eyJIIDEMEzzzzzz.HIDEME`,
	} {
		got := read(t, secretLine+secret+"\n")
		all := fmt.Sprintf("%+v", got)
		if len(got.Findings) != 1 || strings.Contains(all, "HIDEME") || strings.Contains(all, "ME\\\"") {
			t.Errorf("%s: %s", secret, got.Findings[0].Sample)
		}
	}
}

// What only looks like a secret is shown: the name of a request is what a reader
// of a request log looks for.
func TestWhatIsNoSecretIsShown(t *testing.T) {
	for _, plain := range []string{
		`header=RequestHeader(apiKey=FETCH, apiVersion=12)`, `apiKey=OFFSET_COMMIT,`, `"requestApiKey":1,"requestApiKeyName":"FETCH"`, `apiKey: ConsumerGroupHeartbeat`,
		`a:b@host`, `client@tcp-7`, `passed 3 of 4`,
	} {
		if got := read(t, secretLine+plain+"\n").Findings[0].Sample; !strings.HasSuffix(got, plain) {
			t.Errorf("%s: %s", plain, got)
		}
	}
}

// A hostile line costs time in proportion to its length. The bound is wide; a
// quadratic pattern takes minutes for this.
func TestRedactionIsLinear(t *testing.T) {
	start := time.Now()
	for _, unit := range []string{`password="\`, `a:b@`, `-----BEGIN PRIVATE KEY-----`, `://`, `xoxb-eyJ.`, `token=token`} {
		read(t, secretLine+strings.Repeat(unit, 32<<10/len(unit))+"\n")
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %s", d)
	}
}
