"""From probabilities per frame to words: the rule every client should use."""

import numpy as np

AVERAGED_FRAMES = 5
CALL_ABOVE = 0.5
REST_FRAMES = 22  # 440 ms


def words_from(commands: np.ndarray) -> list:
    """Probabilities [frames, 13] to [(word 0..11, frame)].

    A word is called when its probability, averaged over the last five frames, passes one half; then the listener
    rests for 440 ms, so that one word is called once.
    """
    called = []
    rest_until = -1
    for frame in range(len(commands)):
        if frame < rest_until:
            continue
        mean = commands[max(0, frame - AVERAGED_FRAMES + 1) : frame + 1].mean(0)
        word = int(mean[1:].argmax())
        if mean[1 + word] > CALL_ABOVE and frame >= AVERAGED_FRAMES:
            called.append((word, frame))
            rest_until = frame + REST_FRAMES
    return called
