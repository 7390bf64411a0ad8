"""A server with OpenAI's API for a model of `transformers`, with a grammar for each request.

    app = create_app(model, tokenizer)          # `app`; `earleymask serve` runs it
    uvicorn.run(app)

A request is read and checked (`fields`, `requests`, `conversation`), and its grammar is loaded (`constraints`), in
threads (`preparing`) or in processes of their own (`grammar_process`, `link`, `served`). Each of its answers is a row
of the one batch that the engine's thread advances (`engine`, `decoder`, `batch`, `sampling`). What a row writes becomes
text (`text`) and the parts of a message (`thinking`, `parts`), which `chat` and `responses` put into the shapes of the
two endpoints.

docs/openai_server.md says what is enforced and what is refused.
"""
