# Two stages: build a static binary, ship nothing else.
FROM golang:1.26.8-bookworm AS build
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build BIN=/out/kafka-oncall VERSION=$VERSION \
 && mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/kafka-oncall /kafka-oncall
# The only path that is written: mount a volume here. The root file system may
# be read-only.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/kafka-oncall"]
CMD ["serve", "--config", "/etc/kafka-oncall/config.yaml"]
