"""placeholder to be replaced"""
