"""A communicator that counts its bytes, and what starts several MPI ranks on this machine."""
