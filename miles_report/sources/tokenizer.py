"""The dump's tokenizer as a function from token ids to texts, each id decoded alone.

Only `tokenizer.json` is read, through the `tokenizers` package; nothing is fetched and no code of the dump is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from miles_report.notices import Notice

if TYPE_CHECKING:
    from miles_report.sources.files import DumpFiles
    from miles_report.sources.sequences import Array

TOKENIZER_FILE = "tokenizer.json"
MAX_ID = 2**32 - 1
MAX_BYTES = 512 << 20
"""The largest vocabularies take 40 MB; a file beyond this is not a tokenizer."""


class TokenTexts:
    """Texts of token ids.

    Args:
        tokenizer: of the `tokenizers` package.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __call__(self, ids: Array) -> list[str]:
        """One text an id.

        Args:
            ids: (n,) integers.

        Returns:
            The text of each id alone, special tokens by their names; a byte that is no character alone is U+FFFD; "" for an
            id that the vocabulary does not have.
        """
        wanted = ids.tolist()
        valid = [[token] for token in wanted if 0 <= token <= MAX_ID]
        texts = iter(self._tokenizer.decode_batch(valid, skip_special_tokens=False))
        return [next(texts) if 0 <= token <= MAX_ID else "" for token in wanted]


def read_tokenizer(files: DumpFiles, *, notices: list[Notice]) -> TokenTexts | None:
    """The tokenizer of a dump.

    Args:
        files: the dump.
        notices: gets the reason why there is none.

    Returns:
        Null if the dump has no tokenizer, or none that can be used.

    Source: tokenizer/tokenizer.json.
    """
    stamp = files.tokenizer.get(TOKENIZER_FILE)
    if stamp is None:
        has_others = bool(files.tokenizer)
        notices.append(
            Notice(
                "no-tokenizer",
                "warning" if has_others else "info",
                "tokenizer",
                f"The tokenizer has no {TOKENIZER_FILE}, so tokens are shown as ids."
                if has_others
                else "The dump has no tokenizer, so tokens are shown as ids.",
                "Copy the folder that save_pretrained of a fast tokenizer writes to tokenizer/ in the dump.",
            )
        )
        return None
    try:
        if stamp.size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")  # noqa: TRY301 - told as any other reason
        with stamp.path.open("rb") as file:
            tokenizer = Tokenizer.from_buffer(file.read(stamp.size))
        texts = TokenTexts(tokenizer)
        texts(np.zeros(1, dtype=np.int64))
    except Exception as error:  # noqa: BLE001 - the package raises plain Exception for whatever it cannot parse
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        notices.append(
            Notice(
                "unusable-tokenizer",
                "warning",
                stamp.name,
                f"The tokenizer cannot be used ({reason}), so tokens are shown as ids.",
                "Copy the file again from the model.",
            )
        )
        return None
    return texts
