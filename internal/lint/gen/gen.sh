#!/bin/bash
# Rewrites ../keys.tsv from Kafka's own definitions and librdkafka's own table.
# Needs Java 17, Maven, Python with venv, and a registry of each. About 1 GB.
#   internal/lint/gen/gen.sh WORKDIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${1:?gen.sh wants a folder to work in}
mkdir -p "$work"
for v in 2.4.1 2.8.2 3.0.2 3.3.2 3.6.2 3.7.2 3.8.1 3.9.2 4.0.0 4.2.0 4.4.0; do
  k="$work/k$v"
  if [ ! -d "$k/lib" ]; then
    mkdir -p "$k"
    {
      echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>k</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
      for a in kafka_2.13 kafka-streams connect-runtime; do
        echo "<dependency><groupId>org.apache.kafka</groupId><artifactId>$a</artifactId><version>$v</version><exclusions><exclusion><groupId>org.rocksdb</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
      done
      echo '</dependencies></project>'
    } >"$k/pom.xml"
    (cd "$k" && mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib -DincludeScope=runtime)
  fi
  javac -cp "$k/lib/*" -d "$k" "$here/KeyDump.java"
  java -cp "$k:$k/lib/*" KeyDump "$v" 2>"$k/err"
done >"$work/java.tsv"
[ -d "$work/venv" ] || { python3 -m venv "$work/venv" && "$work/venv/bin/pip" -q install confluent-kafka==2.16.1; }
"$work/venv/bin/python" "$here/librdkafka.py" >"$work/librdkafka.md"
go run "$here" "$work/java.tsv" "$work/librdkafka.md" >"$here/../keys.tsv"
