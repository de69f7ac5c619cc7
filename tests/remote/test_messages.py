"""What was generated of `batches.proto`, in Python and in Rust, is what it says now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from google.protobuf.descriptor import FieldDescriptor
from program import ROOT

from atari_wrappers.remote import batches_pb2

FOLDER = ROOT / "atari_wrappers" / "remote"
PROTO = (FOLDER / "batches.proto").read_text()
RUST = ROOT / "vec_env" / "remote"
RUST_MESSAGES = RUST / "messages" / "atari_wrappers.batches.v1.rs"


class Field(NamedTuple):
    """A field of a message; those of a `oneof` say of which: an optional one has one of its own."""

    name: str
    kind: str
    is_repeated: bool
    oneof: str


Fields = dict[tuple[str, int], Field]


def fields_of_proto(text: str) -> Fields:
    """Return the fields that a file of Protobuf's has, by message and number; one in a line."""
    found: Fields = {}
    message = oneof = ""
    text = re.sub(r"//.*", "", text)
    for line in filter(None, map(str.strip, text[text.index("message ") :].splitlines())):
        if begun := re.fullmatch(r"message (\w+) \{(\})?", line):
            message = begun[1]
        elif begun := re.fullmatch(r"oneof (\w+) \{", line):
            oneof = begun[1]
        elif line == "}":
            oneof = ""
        else:
            field = re.fullmatch(r"(?:(repeated|optional) )?(\w+) (\w+) = (\d+);", line)
            assert field, f"this test does not know what {line!r} is"
            number, is_repeated = int(field[4]), field[1] == "repeated"
            own = f"_{field[3]}" if field[1] == "optional" else oneof
            found[message, number] = Field(field[3], field[2], is_repeated, own)
    return found


def fields_of_python() -> Fields:
    """Return the fields of the descriptors in `batches_pb2.py`."""
    kinds = {
        getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
        for name in dir(FieldDescriptor)
        if name.startswith("TYPE_")
    }
    return {
        (message.name, field.number): Field(
            field.name,
            field.message_type.name if field.message_type else kinds[field.type],
            field.is_repeated,
            field.containing_oneof.name if field.containing_oneof else "",
        )
        for message in batches_pb2.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
    }


def fields_of_rust(text: str) -> Fields:
    """Return the fields of the structs that prost derives messages of."""
    found: Fields = {}
    oneofs = dict(re.findall(r'oneof = "(\w+)::\w+", tags = "[\d, ]+"\)\]\s+pub (\w+):', text))
    message = oneof = attribute = ""
    for line in map(str.strip, text.splitlines()):
        if begun := re.fullmatch(r"pub struct (\w+) \{\}?", line):
            message, oneof = begun[1], ""
        elif begun := re.fullmatch(r"pub mod (\w+) \{", line):
            message, oneof = begun[1].title().replace("_", ""), oneofs[begun[1]]
        elif begun := re.fullmatch(r'#\[prost\((.*), tag = "(\d+)"\)\]', line):
            attribute, number = begun[1], int(begun[2])
        elif attribute:
            named = re.fullmatch(r"(?:pub )?(?:r#)?(\w+)(?:: |\()(.*?)\)?,", line)
            assert named, line
            words = attribute.split(", ")
            kind = words[0].partition(" ")[0]
            if kind == "message":
                kind = re.findall(r"\w+", named[2])[-1]
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", named[1]).lower() if oneof else named[1]
            is_optional = "optional" in words and words[0] != "message"
            own = f"_{name}" if is_optional else oneof
            found[message, number] = Field(name, kind, "repeated" in words, own)
            attribute = ""
    return found


def test_pythons_messages_are_those_of_the_file() -> None:
    said = fields_of_proto(PROTO)
    assert len(said) > 90
    assert fields_of_python() == said


def test_rusts_messages_are_those_of_the_file() -> None:
    assert fields_of_rust(RUST_MESSAGES.read_text()) == fields_of_proto(PROTO)


def test_services_are_those_of_the_file() -> None:
    package = re.search(r"^package ([\w.]+);", PROTO, re.M)[1]
    rpc = r"service (\w+) \{\s*rpc (\w+)\(stream Request\) returns \(stream Reply\);\s*\}"
    methods = {f"{package}.{service}": method for service, method in re.findall(rpc, PROTO)}
    services = batches_pb2.DESCRIPTOR.services_by_name.values()
    assert {each.full_name: each.methods[0].name for each in services} == methods
    in_rust = re.findall(r'method: "/([\w.]+)/(\w+)"', (RUST / "src" / "session.rs").read_text())
    assert dict(in_rust) == methods


def test_python_is_what_protoc_writes(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="it is needed where messages change, alone")
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}"]
    files = [f"--pyi_out={tmp_path}", "atari_wrappers/remote/batches.proto"]
    subprocess.run([*command, *files], cwd=ROOT, check=True)
    for name in ("batches_pb2.py", "batches_pb2.pyi"):
        written = (tmp_path / "atari_wrappers" / "remote" / name).read_text()
        assert written == (FOLDER / name).read_text(), name
