"""The zip container that `torch.save` writes -> named byte ranges of a memory map.

Rule: the directory of the zip is a claim. Every range is checked against the real file, against the
local header it points to and against every other range before a byte of it is used, and a compressed
entry is unpacked into a bound that was checked first.
"""

from __future__ import annotations

import mmap
import stat
import struct
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from miles_report.errors import SourceError
from miles_report.sources.torch_placeholder import shown

if TYPE_CHECKING:
    from pathlib import Path

STORED: Final = 0
DEFLATED: Final = 8

_LOCAL = struct.Struct("<4s2x2H16x2H")  # magic, flags, method, lengths of name and extra field
_CENTRAL = struct.Struct("<4s4x2H8x2I4H6xI")  # as in `_claim`
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")
_LONGEST_COMMENT = 65_535  # bytes, by the format
_ENCRYPTED = 1  # bit of the flags
_FULL_32 = 0xFFFF_FFFF  # stands for "see the zip64 field"
_FULL_16 = 0xFFFF
_ZIP64_FIELD = 1

UNPACK_RATIO: Final = 100  # a compressed entry may grow this many times ...
UNPACK_FLOOR_BYTES: Final = 16 << 20  # ... or up to this size whatever its ratio,
UNPACK_TOTAL_BYTES: Final = 1 << 30  # and all entries of a file together up to this one

_RESAVE = "re-save it with torch.save(torch.load(path), path) of torch 1.6 or newer"


class Entry(NamedTuple):
    """One file inside the container: where its bytes lie in the map, and how long they get."""

    name: str
    header: int
    start: int
    stored_bytes: int
    size: int
    method: int


class Archive:
    """A checked zip container over a read-only memory map.

    Attributes:
        map: the whole file; arrays made over it keep it alive, nothing else has to.
        entries: by name without the leading folder ("data.pkl", "data/0", "byteorder").
    """

    def __init__(self, name: str, file_map: mmap.mmap, entries: dict[str, Entry]) -> None:
        self.name = name
        self.map = file_map
        self.entries = entries
        self._left = UNPACK_TOTAL_BYTES

    def read(self, entry_name: str) -> bytes:
        """The bytes of an entry, unpacked if it is compressed.

        Raises:
            SourceError: there is no such entry, or it does not unpack to the size it declares.
        """
        entry = self.entries.get(entry_name)
        if entry is None:
            raise SourceError(
                self.name,
                shown(entry_name),
                "this part of the container is missing; copy the file again",
            )
        packed = self.map[entry.start : entry.start + entry.stored_bytes]
        if entry.method == STORED:
            return packed
        self._left -= entry.size
        if (
            entry.size > max(UNPACK_FLOOR_BYTES, UNPACK_RATIO * entry.stored_bytes)
            or self._left < 0
        ):
            raise SourceError(
                self.name,
                shown(entry_name),
                f"it unpacks from {entry.stored_bytes:,} to {entry.size:,} bytes, which looks like a zip bomb; {_RESAVE}",
            )
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = unpacker.decompress(packed, entry.size + 1)
        except zlib.error as error:
            raise SourceError(
                self.name, shown(entry_name), "it does not unpack; copy the file again"
            ) from error
        if len(data) != entry.size:
            raise SourceError(
                self.name,
                shown(entry_name),
                "it does not unpack to the declared size; copy the file again",
            )
        return data


def open_archive(path: Path, name: str) -> Archive:
    """Opens and checks a torch container; only its directory and local headers are read.

    Args:
        path: the file.
        name: what errors call it.

    Raises:
        SourceError: the file cannot be opened, is empty, cut off, not a zip, or its directory lies.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise SourceError(name, "", "it is a directory or a device, not a file; move it away")
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file_map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else None
    except FileNotFoundError as error:
        raise SourceError(name, "", "there is no such file; check the path") from error
    except PermissionError as error:
        raise SourceError(name, "", "it may not be read; give the reader permission") from error
    except (OSError, ValueError, OverflowError) as error:
        raise SourceError(
            name, "", f"it cannot be opened ({shown(error)}); check the file system"
        ) from error
    if file_map is None:
        raise SourceError(
            name, "", "the file is empty; it was never written, so delete it or copy it again"
        )
    try:
        return Archive(name, file_map, _read_directory(file_map, name))
    except (struct.error, IndexError, OverflowError) as error:
        raise SourceError(
            name, "zip directory", "it is cut off or damaged; copy the file again"
        ) from error


def _read_directory(data: mmap.mmap, name: str) -> dict[str, Entry]:
    start, stop, count = _find_directory(data, name)
    directory = data[start:stop]
    found: list[Entry] = []
    at = 0
    for _ in range(count):
        claim, at = _claim(directory, at, start, name)
        found.append(_checked_against_local(data, claim, name))
    if at != len(directory):
        raise _damaged(name, start + at, "the zip directory does not end where it says")
    return _named(_without_overlaps(found, start, name), name)


def _find_directory(data: mmap.mmap, name: str) -> tuple[int, int, int]:
    """Start and end of the central directory and its number of entries."""
    end = data.rfind(b"PK\5\6", max(0, len(data) - _END.size - _LONGEST_COMMENT))
    if end < 0:
        raise SourceError(name, "", _what_it_is(data))
    if end + _END.size > len(data):
        raise SourceError(name, "", "the file is cut off in its last bytes; copy it again")
    _, disk, _, _, count, size, start, _ = _END.unpack_from(data, end)
    stop = end
    locator = end - _LOCATOR64.size
    if locator >= 0 and data[locator : locator + 4] == b"PK\6\7":
        _, _, end64, _ = _LOCATOR64.unpack_from(data, locator)
        if end64 + _END64.size > locator or data[end64 : end64 + 4] != b"PK\6\6":
            raise _damaged(name, locator, "the end of the zip64 directory is not where it says")
        _, _, _, _, disk, _, _, count, size, start = _END64.unpack_from(data, end64)
        stop = end64
    if disk or start + size != stop:
        raise _damaged(name, end, "the zip directory does not lie where it says")
    if count * _CENTRAL.size > size:
        raise _damaged(name, end, f"the zip directory is too short for its {count:,} entries")
    return start, stop, count


def _what_it_is(data: mmap.mmap) -> str:
    if data[:4] == b"PK\3\4":
        return "the zip directory at its end is missing; it is still being written or was cut off, so wait or copy it again"
    if data[:1] == b"\x80":
        return f"it is a torch file of the old format (before torch 1.6), not a torch zip container; {_RESAVE}"
    if data[257:262] == b"ustar":
        return f"it is a tar file, not a torch zip container; {_RESAVE}"
    return "it is not a torch zip container; put a file there that torch.save wrote, or remove it"


class _Claim(NamedTuple):
    """What the zip directory says of an entry."""

    name: bytes
    header: int
    packed: int
    size: int
    method: int


def _claim(directory: bytes, at: int, start: int, name: str) -> tuple[_Claim, int]:
    """The entry at `at` of the directory, which begins at `start` of the file, and where it ends."""
    name_at = at + _CENTRAL.size
    if name_at > len(directory):
        raise _damaged(name, start + at, "the zip directory is shorter than it says")
    magic, flags, method, packed, size, n_name, n_extra, n_comment, disk, header = (
        _CENTRAL.unpack_from(directory, at)
    )
    extra_at = name_at + n_name
    comment_at = extra_at + n_extra
    if magic != b"PK\1\2" or comment_at + n_comment > len(directory):
        raise _damaged(name, start + at, "an entry of the zip directory is broken")
    if _FULL_32 in (packed, size, header):
        extra = directory[extra_at:comment_at]
        size, packed, header = _zip64(extra, (size, packed, header), name, start + at)
    if flags & _ENCRYPTED or method not in (STORED, DEFLATED) or disk not in (0, _FULL_16):
        raise _damaged(
            name, start + at, f"an entry is encrypted or packed in an unknown way (method {method})"
        )
    claim = _Claim(directory[name_at:extra_at], header, packed, size, method)
    return claim, comment_at + n_comment


def _zip64(extra: bytes, values: tuple[int, int, int], name: str, at: int) -> tuple[int, int, int]:
    """Size, packed size and header offset, with the full ones taken from the zip64 extra field."""
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, place)
        if kind == _ZIP64_FIELD:
            body = extra[place + 4 : place + 4 + length]
            longs = iter(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
            size, packed, header = (next(longs, -1) if v == _FULL_32 else v for v in values)
            if min(size, packed, header) >= 0:
                return size, packed, header
        place += 4 + length
    raise _damaged(name, at, "a large entry lacks its zip64 sizes")


def _checked_against_local(data: mmap.mmap, claim: _Claim, name: str) -> Entry:
    header = claim.header
    name_at = header + _LOCAL.size
    if name_at > len(data):
        raise _damaged(name, header, "an entry lies outside the file")
    magic, flags, method, n_name, n_extra = _LOCAL.unpack_from(data, header)
    start = name_at + n_name + n_extra
    named = data[name_at : name_at + n_name]
    if magic != b"PK\3\4" or named != claim.name or method != claim.method or flags & _ENCRYPTED:
        raise _damaged(name, header, "an entry and the zip directory do not agree")
    if start + claim.packed > len(data) or (method == STORED and claim.size != claim.packed):
        raise _damaged(name, header, "an entry is longer than the file")
    text = named.decode("utf-8", "replace")
    return Entry(text, header, start, claim.packed, claim.size, method)


def _without_overlaps(found: list[Entry], directory: int, name: str) -> list[Entry]:
    free_from = 0
    for entry in sorted(found, key=lambda e: e.header):
        if entry.header < free_from:
            raise _damaged(name, entry.header, "two entries of the zip overlap")
        free_from = entry.start + entry.stored_bytes
    if free_from > directory:
        raise _damaged(name, directory, "an entry overlaps the zip directory")
    return found


def _named(found: list[Entry], name: str) -> dict[str, Entry]:
    """Entries by name inside the container's one folder."""
    entries: dict[str, Entry] = {}
    folder = found[0].name.partition("/")[0] if found else ""
    for entry in found:
        top, _, rest = entry.name.partition("/")
        if rest in entries:
            raise _damaged(name, entry.header, f"the entry {shown(entry.name)} is there twice")
        if top != folder:
            raise _damaged(
                name, entry.header, f"the entry {shown(entry.name)} is outside the folder"
            )
        entries[rest] = entry
    if "data.pkl" not in entries:
        raise SourceError(
            name,
            "",
            "it is a zip file without data.pkl, not a torch zip container; put a file there that torch.save wrote",
        )
    return entries


def _damaged(name: str, at: int, what: str) -> SourceError:
    return SourceError(name, f"byte {at}", f"{what}; the file is damaged, so copy it again")
