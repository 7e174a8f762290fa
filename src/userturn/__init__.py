"""userturn: does a language model know what its user says next?"""
