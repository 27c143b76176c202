"""A client that knows nothing but the address: it asks the server's reflection service for the
descriptors, builds the messages from them, and calls methods by name."""

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# The reflection service itself, written down by hand: field numbers of the protocol.
BOOT = {"ServerReflectionRequest": [("host", 1, "s"), ("file_by_filename", 3, "s"),
                                    ("file_containing_symbol", 4, "s"),
                                    ("all_extension_numbers_of_type", 6, "s"), ("list_services", 7, "s")],
        "FileDescriptorResponse": [("file_descriptor_proto", 1, "B")],
        "ServiceResponse": [("name", 1, "s")],
        "ListServiceResponse": [("service", 1, ".ServiceResponse*")],
        "ExtensionNumberResponse": [("base_type_name", 1, "s")],
        "ErrorResponse": [("error_code", 1, "i"), ("error_message", 2, "s")],
        "ServerReflectionResponse": [("valid_host", 1, "s"),
                                     ("original_request", 2, ".ServerReflectionRequest"),
                                     ("file_descriptor_response", 4, ".FileDescriptorResponse"),
                                     ("all_extension_numbers_response", 5, ".ExtensionNumberResponse"),
                                     ("list_services_response", 6, ".ListServiceResponse"),
                                     ("error_response", 7, ".ErrorResponse")]}


def boot_classes():
    file = descriptor_pb2.FileDescriptorProto(name="boot.proto", package="boot", syntax="proto2")
    kinds = {"s": 9, "B": 12, "i": 5}
    for name, fields in BOOT.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            repeated = kind == "B" or kind.endswith("*")
            added = message.field.add(name=field, number=number, label=3 if repeated else 1,
                                      type=kinds.get(kind, 11))
            if kind.startswith("."):
                added.type_name = ".boot" + kind.rstrip("*")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {n: factory.GetPrototype(pool.FindMessageTypeByName("boot." + n)) for n in BOOT}


class Reflection:
    def __init__(self, channel, version="v1alpha"):
        self.channel = channel
        self.types = boot_classes()
        self.call = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=self.types["ServerReflectionResponse"].FromString)
        self.pool = descriptor_pool.DescriptorPool()
        self.factory = message_factory.MessageFactory(self.pool)

    def ask(self, *questions):
        requests = [self.types["ServerReflectionRequest"](**q) for q in questions]
        return list(self.call(iter(requests), timeout=60))

    def services(self):
        (answer,) = self.ask({"list_services": ""})
        return [s.name for s in answer.list_services_response.service]

    def load(self, symbol):
        (answer,) = self.ask({"file_containing_symbol": symbol})
        for data in answer.file_descriptor_response.file_descriptor_proto:
            self.pool.Add(descriptor_pb2.FileDescriptorProto.FromString(data))

    def method(self, service, name):
        """A callable that takes the fields of the request and returns the response."""
        method = self.pool.FindServiceByName(service).methods_by_name[name]
        request = self.factory.GetPrototype(method.input_type)
        response = self.factory.GetPrototype(method.output_type)
        kind = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        call = kind(f"/{service}/{name}", request_serializer=lambda m: m.SerializeToString(),
                    response_deserializer=response.FromString)
        return lambda timeout=60, **fields: call(request(**fields), timeout=timeout)
