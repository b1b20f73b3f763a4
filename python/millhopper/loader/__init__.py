# SPDX-License-Identifier: Apache-2.0
"""DataLoader, which takes the place of torch's, and the data sets in Python that it reads."""
