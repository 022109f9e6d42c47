"""The fields of ``AddMagneticLaplacianPE``, as encoders of complex spectra require them."""

from __future__ import annotations

from graphpe.nn.encoders.base import FieldRequirement, require_field_name
from graphpe.nn.encoders.spectral.eigenpair_count import EigenpairCount


def magnetic_requirements(
    k: int, potentials: int, field: str, eigenvalue_field: str, count_field: str
) -> tuple[FieldRequirement, ...]:
    """Requires eigenvectors ``[N, Q, k]``, eigenvalues ``[B, Q, k]`` and their number ``[B, 1]``.

    Args:
        k: Number of eigenpairs per potential.
        potentials: Number of potentials, Q.
        field: Name of the eigenvectors.
        eigenvalue_field: Name of the eigenvalues.
        count_field: Name of the number of eigenpairs that are not padding.

    Raises:
        ValueError: If a name is no name.
    """
    require_field_name("field", field)
    require_field_name("eigenvalue_field", eigenvalue_field)
    require_field_name("count_field", count_field)
    several = f", q=[...] with {potentials} potentials" if potentials > 1 else ""
    transform = f"AddMagneticLaplacianPE(k={k}{several})"
    width, shape = potentials * k, (potentials, k)
    return (
        FieldRequirement(field, "node", width, transform, "complex", shape),
        FieldRequirement(eigenvalue_field, "graph", width, transform, "float", shape),
        EigenpairCount(count_field, "graph", 1, transform, "integer", k=k),
    )
