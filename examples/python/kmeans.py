"""k-means on clouds of points: distances as one matrix product, centres as another, no loop over points.

    python examples/python/kmeans.py [--points 20000] [--clusters 8] [--short]
"""

import argparse

import weft


def distances(points, centres):
    """Squared: |p|² - 2 p·c + |c|², [n, k]."""
    return (points * points).sum(1, keepdim=True) - 2 * points @ centres.T + (centres * centres).sum(1)


def spread_out(points, count):
    """k-means++: each next centre is a point, the likelier the farther it is from those before."""
    centres = points[:1]
    for _ in range(count - 1):
        far = distances(points, centres).min(1).values.clamp(min=0).cumsum(0)
        chosen = (far < weft.rand(1) * far[-1]).sum().reshape(1)
        centres = weft.cat([centres, points[chosen]]).realize()
    return centres


def kmeans(points, count, iterations=50):
    """Centres [k, d], the cluster of each point [n], and the sum of squared distances after each iteration."""
    ids, centres, history = weft.arange(count), spread_out(points, count), []
    for _ in range(iterations):
        nearest = distances(points, centres).min(1)
        member = (nearest.indices.unsqueeze(1) == ids).float()  # [n, k]
        size = member.sum(0).unsqueeze(1)
        moved = weft.where(size > 0, member.T @ points / size.clamp(min=1), centres)
        weft.realize(moved, nearest.values, nearest.indices)
        history.append(nearest.values.sum().item())
        if weft.equal(moved, centres):
            break
        centres = moved
    return centres, nearest.indices, history


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--short", action="store_true", help="2,000 points")
    options = parser.parse_args(arguments)
    count = 2_000 if options.short else options.points

    weft.manual_seed(3)
    truth = weft.rand(options.clusters, 2) * 20
    cloud = weft.randint(0, options.clusters, (count,))
    points = (truth[cloud] + weft.randn(count, 2) * 0.6).realize()
    best = min((kmeans(points, options.clusters) for _ in range(3)), key=lambda result: result[2][-1])
    centres, cluster, history = best
    print(f"{len(history)} iterations: sum of squared distances {history[0]:,.0f} -> {history[-1]:,.0f}")
    for centre in sorted(centres.tolist()):
        print("centre at " + ", ".join(f"{value:6.2f}" for value in centre))
    missed = distances(truth, centres).min(1).values.clamp(min=0).sqrt().max().item()
    print(f"the farthest of the true centres is {missed:.2f} from one that was found")
    return missed, history


if __name__ == "__main__":
    main()
