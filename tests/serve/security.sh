#!/bin/sh
# labels: notsan
# plumb serve: who is let in, by which way and with which role; every refusal is one line of the log.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"

# refuses NAME TEXT OPTION...: the server does not start, and says why
refuses() {
    what=$1
    text=$2
    shift 2
    expect "$what" 2 timeout 30 "$PLUMB_BIN" serve "$@"
    has err.txt "$text"
    [ "$(wc -l <err.txt)" -le 2 ] || fail "$what: $(cat err.txt)"
}

refuses 'network without TLS' '0.0.0.0:0 can be reached from other machines' --listen=0.0.0.0:0
for address in '[::]:0' 10.1.2.3:0 example.org:0 '[::ffff:10.1.2.3]:0' 128.0.0.1:0; do
    refuses "$address" 'can be reached from other machines' "--listen=$address"
done
for address in x 127.0.0.1 :5 127.0.0.1: 127.0.0.1:x 127.0.0.1:65536 ::1:5 unix: "unix:$(printf %0108d 0)" \
    dns:///x:1 127.0.0.1:-1; do
    refuses "address '$address'" '--listen' "--listen=$address"
done
refuses 'no key' 'belong together' --tls-cert=x
refuses 'no certificate' '--client-ca needs --tls-cert' --client-ca=x
refuses 'no authority' '--control-name needs --client-ca' --control-name=x
refuses 'no such certificate' "cannot read 'nix'" --listen=127.0.0.1:0 --tls-cert=nix --tls-key=nix
refuses 'workers' '--workers wants a whole number from 1 to 256' --workers=0
expect 'workers of the environment' 2 env GRPC_MAX_WORKERS=1000 "$PLUMB_BIN" serve
has err.txt 'GRPC_MAX_WORKERS wants a whole number from 1 to 256, not '"'1000'"
expect 'message of the environment' 2 env GRPC_MAX_MSG_SIZE=1g "$PLUMB_BIN" serve
has err.txt 'GRPC_MAX_MSG_SIZE wants a whole number'

umask 022
echo 'a-token-of-31-characters-abcdefg' >token
refuses 'a token that others may read' "run 'chmod 600' on it" --listen=127.0.0.1:0 --token=token
refuses 'no such token' "cannot read 'nix': No such file" --listen=127.0.0.1:0 --token=nix
chmod 600 token
: >empty
echo 'two words' >two
head -c 600 /dev/zero | tr '\0' x >long
mkfifo pipe
chmod 600 empty two long pipe
refuses 'an empty token' "'empty' is empty" --listen=127.0.0.1:0 --token=empty
refuses 'two words' "'two' holds more than one word" --listen=127.0.0.1:0 --read-token=two
refuses 'a long token' "'long' is longer" --listen=127.0.0.1:0 --token=long
refuses 'a pipe' "'pipe' is not a regular file" --listen=127.0.0.1:0 --token=pipe
if [ "$(id -u)" = 0 ]; then
    cp token other
    chown 65534 other
    refuses 'a token of another user' "'other' belongs to another user" --listen=127.0.0.1:0 --token=other
fi

# Both tables of options are the same.
for option in $("$PLUMB_BIN" serve --help | sed -n 's/^  --\([a-z-]*\).*/\1/p' | grep -v '^help$'); do
    expect "option $option" 2 "${PLUMB_BIN%/*}/plumb-serve" "--$option" 200 --frobnicate
    has err.txt "unknown option '--frobnicate'"
done

# Certificates: an authority, the server's, two clients', and one of a stranger.
subject() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "/CN=$2" -out "$1.csr" 2>/dev/null &&
        printf 'subjectAltName=DNS:localhost,DNS:%s.example,IP:127.0.0.1\n' "$2" >ext &&
        openssl x509 -req -in "$1.csr" -CA "$3.pem" -CAkey "$3.key" -CAcreateserial -days 2 -extfile ext \
            -out "$1.pem" 2>/dev/null || fail "openssl: $1"
}
for ca in ca stranger_ca; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $ca.key -subj "/CN=$ca" -days 2 -out $ca.pem 2>/dev/null ||
        fail 'openssl'
done
subject server localhost ca
subject alice alice ca
subject bob bob ca
subject eve alice stranger_ca
build_linked "$PLUMB_SOURCE_DIR/tests/serve/_host.c" host
run_python _security.py || fail 'roles'
finish
