"""The fields of ``AddLaplacianEigenvectorPE``, as encoders of real spectra require them."""

from __future__ import annotations

from graphpe.nn.encoders.base import FieldRequirement, require_field_name
from graphpe.nn.encoders.spectral.eigenpair_count import EigenpairCount


def laplacian_requirements(
    k: int,
    field: str,
    eigenvalue_field: str | None,
    count_field: str,
    eigenvalues: bool = True,
) -> tuple[FieldRequirement, ...]:
    """Requires eigenvectors ``[N, k]``, their number ``[B, 1]`` and eigenvalues ``[B, k]``, in this order.

    Args:
        k: Number of eigenpairs.
        field: Name of the eigenvectors.
        eigenvalue_field: Name of the eigenvalues.
        count_field: Name of the number of eigenpairs that are not padding.
        eigenvalues: Whether eigenvalues are read; if not, their name doesn't matter.

    Raises:
        ValueError: If a name is no name.
    """
    require_field_name("field", field)
    require_field_name("count_field", count_field)
    transform = f"AddLaplacianEigenvectorPE(k={k})"
    required = (
        FieldRequirement(field, "node", k, transform),
        EigenpairCount(count_field, "graph", 1, transform, "integer", k=k),
    )
    if not eigenvalues:
        return required
    if eigenvalue_field is None:
        raise ValueError(
            "eigenvalue_field is None, but the encoder reads eigenvalues; give the name of their field, such as "
            "'laplacian_eigenvalue', which AddLaplacianEigenvectorPE writes"
        )
    require_field_name("eigenvalue_field", eigenvalue_field)
    return (*required, FieldRequirement(eigenvalue_field, "graph", k, transform))
