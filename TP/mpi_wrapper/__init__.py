"""A communicator that counts its bytes, and what starts several MPI ranks on this machine."""

from mpi_wrapper.comm import Communicator

__all__ = ["Communicator"]
