"""What learners are compared with: conjugate and tangent features at finite width, and exact ridge."""
