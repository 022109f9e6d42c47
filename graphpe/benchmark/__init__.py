"""Suites: many trainings that are compared, run and resumed, and their tables."""

from __future__ import annotations

from graphpe.benchmark.plan import Run, plan_runs
from graphpe.benchmark.reading import SuiteError
from graphpe.benchmark.suite import Suite, read_suite

__all__ = ["Run", "Suite", "SuiteError", "plan_runs", "read_suite"]
