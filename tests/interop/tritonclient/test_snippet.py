from snippets import printed, snippet


def test_the_snippet_of_the_documentation_judges_reviews(server_url, tmp_path):
    lines = printed(snippet("sentiment.py", server_url), tmp_path).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["positive", "negative"]
    assert lines[0].endswith("%): What a lovely film!")
