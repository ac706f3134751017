package slack

import "github.com/kafka-oncall/kafka-oncall/internal/secret"

// Secret is a token. However it is printed, logged or encoded, it shows as ***.
type Secret = secret.Text
