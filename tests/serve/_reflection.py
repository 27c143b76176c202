import time

import grpc
import health_pb2

from _reflect import Reflection
from _serve import Server, channel, refused

SERVICES = {"plumb.v1.Profiler", "cuvis_ai.v1.CuvisAIService", "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}


def check_version(server, version):
    with channel(server) as ch:
        reflection = Reflection(ch, version)
        assert set(reflection.services()) == SERVICES, reflection.services()
        for service in sorted(SERVICES):
            reflection.load(service)
            methods = reflection.pool.FindServiceByName(service).methods
            assert len(methods) > 0
        reply = reflection.method("grpc.health.v1.Health", "Check")()
        assert reply.status == 1
        assert not reflection.method("plumb.v1.Profiler", "ListRuns")().runs


def check_symbols(server):
    with channel(server) as ch:
        reflection = Reflection(ch)
        good = ["plumb.v1.Profiler.Trace", "plumb.v1.Row", "plumb.v1.Row.mean_ms", "plumb.v1.RunState",
                "plumb.v1.RunState.RUN_STATE_OPEN", "plumb.v1.RUN_STATE_OPEN",
                "grpc.health.v1.HealthCheckResponse.ServingStatus",
                "cuvis_ai.v1.ExecutionStage", "cuvis_ai.v1.SetProfilingRequest.skip_first_n"]
        bad = ["plumb.v1", "plumb.v1.", "plumb.v1.Rows", "plumb.v1.Row.", "plumb.v1.Row.x", "plumb.v1.Profiler.",
               "plumb.v1.Profiler.trace", "x", "", "plumb.v1.RunState.X", "plumb.v12.Row"]
        answers = reflection.ask(*[{"file_containing_symbol": s} for s in good + bad])
        assert len(answers) == len(good) + len(bad)
        for name, answer in zip(good + bad, answers):
            assert answer.original_request.file_containing_symbol == name
            assert answer.HasField("file_descriptor_response") == (name in good), name
            assert name in good or answer.error_response.error_code == 5, name
        file, missing, extension, nothing = reflection.ask(
            {"file_by_filename": "plumb/v1/profiler.proto", "host": "h"}, {"file_by_filename": "x.proto"},
            {"all_extension_numbers_of_type": "plumb.v1.Row"}, {})
        assert file.file_descriptor_response.file_descriptor_proto and file.valid_host == "h"
        assert missing.error_response.error_code == 5
        assert extension.all_extension_numbers_response.base_type_name == "plumb.v1.Row"
        assert nothing.error_response.error_code == 3


def check_unknown(server):
    with channel(server) as ch:
        begin = time.monotonic()
        for path in ("/plumb.v1.Profiler/Nix", "/nix.Nix/Nix", "/x", "/" + "x" * 300):
            for kind in (ch.unary_unary, ch.stream_stream, ch.unary_stream):
                call = kind(path)
                request = iter([b"x"]) if kind == ch.stream_stream else b"x"
                refused(grpc.StatusCode.UNIMPLEMENTED, "", call, request, timeout=3600)
        assert time.monotonic() - begin < 600  # not the deadline of an hour
    server.wait_log("refused /nix.Nix/Nix of ipv4:127.0.0.1:.*UNIMPLEMENTED")


def check_health(server):
    with channel(server) as ch:
        call = ch.unary_unary("/grpc.health.v1.Health/Check",
                              request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                              response_deserializer=health_pb2.HealthCheckResponse.FromString)
        for name in ("", "plumb.v1.Profiler", "cuvis_ai.v1.CuvisAIService"):
            assert call(health_pb2.HealthCheckRequest(service=name)).status == 1
        refused(grpc.StatusCode.NOT_FOUND, "nix", call, health_pb2.HealthCheckRequest(service="nix"))
        watch = ch.unary_stream("/grpc.health.v1.Health/Watch",
                                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                                response_deserializer=health_pb2.HealthCheckResponse.FromString)
        unknown = watch(health_pb2.HealthCheckRequest(service="nix"))
        assert next(unknown).status == 3
        unknown.cancel()
        states = watch(health_pb2.HealthCheckRequest())
        assert next(states).status == 1
        server.process.terminate()
        assert next(states).status == 2  # it drains
        refused(grpc.StatusCode.UNAVAILABLE, "shutting down", lambda timeout: list(states))


with Server("--runs=.") as server:
    for version in ("v1alpha", "v1"):
        check_version(server, version)
    check_symbols(server)
    check_unknown(server)
    check_health(server)
