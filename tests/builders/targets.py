"""Stand-ins for a collector, as producers see it."""

from __future__ import annotations


class Target:
    """A collector that remembers what it was given, and does what a test wants."""

    def __init__(self, answer=None):
        self.calls = []
        self.answer = answer

    def __getattr__(self, method):
        if not method.startswith(("push", "update", "set")):
            raise AttributeError(method)

        def called(value):
            answer = self.answer(method) if callable(self.answer) else self.answer
            if answer is not False:
                self.calls.append((method, value))
            return answer

        return called

    def records(self, method):
        return [record for name, records in self.calls if name == method for record in records]
