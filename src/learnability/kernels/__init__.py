"""What learners are compared with: kernels by formula, features at finite width, exact ridge, predicted risks."""
