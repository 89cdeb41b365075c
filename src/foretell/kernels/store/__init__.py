"""What outlives a process: the journal of a run, and the catalogue of everything ever measured."""

from foretell.kernels.store.catalogue import Catalogue, Group, Row, catalogue_key
from foretell.kernels.store.errors import (
    CatalogueBusy,
    CatalogueDamaged,
    JournalDamaged,
    NoRun,
    OtherRun,
    RunBusy,
    RunExists,
    StorageFailed,
    StorageFull,
    StoreError,
)
from foretell.kernels.store.journal import Entry, Journal, Torn, read_journal

__all__ = [
    "Catalogue",
    "CatalogueBusy",
    "CatalogueDamaged",
    "Entry",
    "Group",
    "Journal",
    "JournalDamaged",
    "NoRun",
    "OtherRun",
    "Row",
    "RunBusy",
    "RunExists",
    "StorageFailed",
    "StorageFull",
    "StoreError",
    "Torn",
    "catalogue_key",
    "read_journal",
]
