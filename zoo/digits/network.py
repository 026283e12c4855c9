"""A small convolutional network. Trained with batch norm, shipped with the norm folded into the convolutions."""

import torch
from torch import nn

WIDTHS = ((1, 32), (32, 32), (32, 64), (64, 64), (64, 96), (96, 96))


class Digits(nn.Module):
    """Image in, probabilities out: the shape that is exported."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in WIDTHS)
        self.head = nn.Linear(WIDTHS[-1][1] * 9, 128)
        self.classes = nn.Linear(128, 10)

    def forward(self, image):
        x = image
        for index, convolution in enumerate(self.convolutions):
            x = torch.relu(convolution(x))
            if index % 2 == 1:
                x = torch.max_pool2d(x, 2)
        x = torch.relu(self.head(x.flatten(1)))
        return torch.softmax(self.classes(x), dim=-1)


class TrainableDigits(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = Digits()
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b in WIDTHS)
        self.dropout = nn.Dropout(0.3)

    def forward(self, image):
        x = image
        for index, (convolution, norm) in enumerate(zip(self.plain.convolutions, self.norms)):
            x = torch.relu(norm(convolution(x)))
            if index % 2 == 1:
                x = torch.max_pool2d(x, 2)
        x = self.dropout(torch.relu(self.plain.head(x.flatten(1))))
        return self.plain.classes(x)

    def folded(self) -> Digits:
        result = Digits()
        result.load_state_dict(self.plain.state_dict())
        with torch.no_grad():
            for convolution, norm in zip(result.convolutions, self.norms):
                factor = (norm.weight / torch.sqrt(norm.running_var + norm.eps)).cpu()
                convolution.weight.mul_(factor[:, None, None, None])
                convolution.bias.sub_(norm.running_mean.cpu()).mul_(factor).add_(norm.bias.cpu())
        return result.eval()
