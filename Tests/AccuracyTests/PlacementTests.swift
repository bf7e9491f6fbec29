import Foundation
import Frames
import TestSupport
import Testing
import Track

@testable import Compose

/// Placement of masks on the labelled clips: at the eyes, at rest, and on the brow while the head turns.
private enum Placement {
    struct Labels: Decodable {
        struct Face: Decodable { var right_eye, left_eye: [Double]? }
        var width, height: Int
        var frames: [[Face]]
        var ignore_frames: Spans?
    }

    /// Decodes a list of pairs, or the number of them if there are none.
    struct Spans: Decodable {
        var list: [[Int]]
        init(from decoder: any Decoder) throws {
            list = (try? decoder.singleValueContainer().decode([[Int]].self)) ?? []
        }
    }

    struct Item: Decodable { var type, name: String, kind, annotations: String? }

    /// One labelled face in one frame, as tracked and as used for masks.
    struct Seen {
        var frame: Int
        var eyes: (right: Point, left: Point)
        var pinned: (right: Point, left: Point)
        var landmarks: Face.Landmarks
        var tracked: HeadPlacement
        var worn: HeadPlacement

        var eyeDistance: Float { (eyes.left - eyes.right).length }
    }

    /// Points of a hat in head space: the rim's front and sides, the crown and a tall hat's tip.
    static let hat: [SIMD3<Float>] = [
        [0, -0.86, -0.1], [-1.2, -0.75, 1], [1.2, -0.75, 1], [0, -2, 0.6], [0, -3, 0.8],
    ]
    /// A frame is at rest if the face's middle stays within this many eye distances in this many frames before and
    /// after it: breathing and small talk, no gesture.
    static let (restFrames, restWay): (Int, Float) = (7, 0.06)
    static let output = (width: Float(1280), height: Float(720))
    /// Only clips of one or two people count; in a crowd faces are small.
    static let maxPeople = 2
    /// Landmarks of the brows' inner ends.
    static let brow = 20...23
    /// The least angle in degrees at which a head counts as tilted or turned.
    static let (tilted, turned): (Float, Float) = (15, 20)

    static func median(_ values: [Float], _ part: Double = 0.5) -> Float {
        values.isEmpty ? .infinity : values.sorted()[min(values.count - 1, Int(Double(values.count) * part))]
    }
}

extension Accuracy {
    @Suite struct PlacementOfWhatIsWorn {
        @Test func `eyes, rest and brow`() throws {
            let scratch = try ScratchFolder()
            var (pins, tilts, turns, rest, restBefore, slips) =
                ([Float](), [Float](), [Float](), [[Float]](), [Float](), [Float]())
            print("clip                          faces  pinned   at rest  hat px/frame (unsteadied)  brow in turns")
            for (name, annotations) in try clips() {
                let labels = try JSONDecoder().decode(
                    Placement.Labels.self,
                    from: Data(contentsOf: URL(fileURLWithPath: Fixtures.labelledFaces + "/" + annotations)))
                guard labels.frames.allSatisfy({ $0.count <= Placement.maxPeople }) else { continue }
                let people = try people(name, labels, scratch)
                let zoom = min(
                    Placement.output.width / Float(labels.width), Placement.output.height / Float(labels.height))
                var (clipPins, clipRest, clipBefore, clipSlips) = ([Float](), [[Float]](), [Float](), [Float]())
                for seen in people {
                    for face in seen {
                        let off =
                            ((face.pinned.right - face.eyes.right).length + (face.pinned.left - face.eyes.left).length)
                            / (2 * face.eyeDistance)
                        clipPins.append(off)
                        let pose = face.tracked.pose
                        if abs(pose.roll) > Placement.tilted { tilts.append(off) }
                        if abs(pose.yaw) > Placement.turned { turns.append(off) }
                    }
                    let (steadied, before) = Self.atRest(seen, width: labels.width)
                    clipRest += steadied.map { $0.map { $0 * zoom } }
                    clipBefore += before.map { $0 * zoom }
                    clipSlips += Self.slips(seen, Point(Float(labels.width), Float(labels.height)))
                }
                pins += clipPins
                rest += clipRest
                restBefore += clipBefore
                slips += clipSlips
                let short = (name.split(separator: "/").last ?? "").prefix(28)
                print(
                    short + String(repeating: " ", count: 30 - short.count)
                        + String(
                            format: "%5d   %.3f   %7d  %12.2f (%.2f) %18.3f (%d)", clipPins.count,
                            Placement.median(clipPins), clipRest.count, Placement.median(clipRest.flatMap { $0 }),
                            Placement.median(clipBefore), Placement.median(clipSlips), clipSlips.count))
            }
            let parts = Placement.hat.indices.map { i in Placement.median(rest.map { $0[i] }) }
            let (moving, before) = (Placement.median(rest.flatMap { $0 }), Placement.median(restBefore))
            print(
                """
                pinned to the eyes, eye distances from the labels': median \(Placement.median(pins)) of \(pins.count); \
                tilted \(Placement.median(tilts)) of \(tilts.count); turned \(Placement.median(turns)) of \(turns.count)
                at rest, px a frame at 1280x720: median \(moving) of \(rest.count) frames, unsteadied \(before); \
                rim's front, sides, crown, tall tip: \(parts)
                rim from its place on the brow in turns, eye distances: median \(Placement.median(slips)), \
                90th percentile \(Placement.median(slips, 0.9)) of \(slips.count)
                """)
            #expect(pins.count > 3000 && tilts.count > 50 && turns.count > 100 && rest.count > 500 && slips.count > 30)
            #expect(Placement.median(pins) < 0.06)
            #expect(Placement.median(tilts) < 0.06)
            #expect(Placement.median(turns) < 0.06)
            #expect(moving <= 0.4, "worn hats move by \(moving) px a frame at rest")
            #expect(moving < 0.9 * before, "steadying does nothing")
            #expect(Placement.median(slips, 0.9) < 0.1)
        }

        private func clips() throws -> [(String, String)] {
            let data = try Data(contentsOf: URL(fileURLWithPath: Fixtures.labelledFaces + "/index.json"))
            return try JSONDecoder().decode([Placement.Item].self, from: data).compactMap { item in
                item.type == "video" && item.kind == "face" ? item.annotations.map { (item.name, $0) } : nil
            }
        }

        /// The faces that are both tracked and labelled, frame by frame.
        private func people(
            _ name: String, _ labels: Placement.Labels, _ scratch: ScratchFolder
        ) throws -> [[Placement.Seen]] {
            let lines = try Tracked.lines(
                scratch.shell("'\(Program.path)' track '\(Fixtures.labelledFaces)/\(name)' --json --landmarks"))
            var people: [Int: [Placement.Seen]] = [:]
            var steady: [Int: (head: HeadPoseFilter, time: Double)] = [:]
            for line in lines where line.frame < labels.frames.count {
                let isIgnored = labels.ignore_frames?.list.contains { ($0[0]...$0[1]).contains(line.frame) } ?? false
                for face in line.faces where face.kind == "human" {
                    guard let points = face.landmarks, points.count == 68 else { continue }
                    var landmarks = Face.Landmarks(repeating: .zero)
                    for i in 0..<68 { landmarks[i] = Self.point(points[i]) }
                    let tracked = HeadPlacement(fitting: landmarks)
                    var (head, time) = steady[face.id] ?? (HeadPoseFilter(tracked), line.time)
                    let worn = head.update(tracked, elapsed: Float(line.time - time))
                    time = line.time
                    steady[face.id] = (head, time)
                    guard !isIgnored, let right = face.points["right_eye"], let left = face.points["left_eye"] else {
                        continue
                    }
                    let pinned = (right: Self.point(right), left: Self.point(left))
                    for label in labels.frames[line.frame] {
                        guard let right = label.right_eye, let left = label.left_eye else { continue }
                        let eyes = (right: Self.point(right), left: Self.point(left))
                        let distance = (eyes.left - eyes.right).length
                        let off = ((pinned.right + pinned.left) - (eyes.right + eyes.left)).length / 2
                        guard distance >= 8, off < distance / 2 else { continue }
                        people[face.id, default: []].append(
                            Placement.Seen(
                                frame: line.frame, eyes: eyes, pinned: pinned, landmarks: landmarks, tracked: tracked,
                                worn: worn))
                    }
                }
            }
            return people.sorted { $0.key < $1.key }.map(\.value)
        }

        private static func point(_ pair: [Double]) -> Point { Point(Float(pair[0]), Float(pair[1])) }

        /// How far a hat's points move from each frame to the next while the head rests, pixels of the clip: filtered,
        /// for each frame; and all of them with the tracker's placements.
        private static func atRest(_ seen: [Placement.Seen], width: Int) -> (worn: [[Float]], tracked: [Float]) {
            let reach = Placement.restFrames
            var (worn, tracked) = ([[Float]](), [Float]())
            guard seen.count > 2 * reach + 1 else { return ([], []) }
            for i in reach..<seen.count - reach - 1
            where seen[i + reach + 1].frame - seen[i - reach].frame == 2 * reach + 1 {
                let window = seen[i - reach...i + reach + 1].map { ($0.eyes.right + $0.eyes.left) / 2 }
                let low = window.reduce(window[0]) { pointwiseMin($0, $1) }
                let high = window.reduce(window[0]) { pointwiseMax($0, $1) }
                guard (high - low).length < Placement.restWay * seen[i].eyeDistance else { continue }
                func ways(_ a: HeadPlacement, _ b: HeadPlacement) -> [Float] {
                    let (a, b) = (HeadProjection(a, width: width), HeadProjection(b, width: width))
                    return Placement.hat.map { p in
                        let way = b(p) - a(p)
                        return Point(way.x, way.y).length
                    }
                }
                worn.append(ways(seen[i].worn, seen[i + 1].worn))
                tracked += ways(seen[i].tracked, seen[i + 1].tracked)
            }
            return (worn, tracked)
        }

        /// The distance of the model's brow, which a rim follows, from the face's own while the head is turned, in eye
        /// distances. People's brows are higher or lower than the mean head's: by as much as in this person's frontal
        /// frames. Faces cut by the frame's edge do not count.
        private static func slips(_ seen: [Placement.Seen], _ size: Point) -> [Float] {
            func isWhole(_ face: Placement.Seen) -> Bool {
                (0..<68).allSatisfy {
                    let p = face.landmarks[$0]
                    return p.x > 0 && p.y > 0 && p.x < size.x && p.y < size.y
                }
            }
            func off(_ face: Placement.Seen) -> SIMD2<Float> {
                var (model, own) = (Point.zero, Point.zero)
                for i in Placement.brow {
                    model += face.worn(HeadPlacement.meanHead[i])
                    own += face.landmarks[i]
                }
                let way = (own - model) / (Float(Placement.brow.count) * face.worn.scale)
                // Along the head's own axes.
                let roll = face.worn.pose.roll * .pi / 180
                return [
                    way.x * Frames.cos(roll) + way.y * Frames.sin(roll),
                    way.y * Frames.cos(roll) - way.x * Frames.sin(roll),
                ]
            }
            let ahead = seen.filter { abs($0.worn.pose.yaw) < 10 && abs($0.worn.pose.pitch) < 10 }.map(off)
            guard ahead.count >= 10 else { return [] }
            let own = SIMD2(Placement.median(ahead.map(\.x)), Placement.median(ahead.map(\.y)))
            // The question is whether a turn moves the hat. The filter also lags by part of a frame when the whole
            // picture is panned; such frames are not counted.
            func isCalm(_ i: Int) -> Bool {
                guard i > 0 else { return false }
                let way = (seen[i].eyes.right + seen[i].eyes.left - seen[i - 1].eyes.right - seen[i - 1].eyes.left) / 2
                return way.length < 0.1 * seen[i].eyeDistance
            }
            return seen.indices
                .filter { abs(seen[$0].tracked.pose.yaw) > Placement.turned && isWhole(seen[$0]) && isCalm($0) }
                .map { (off(seen[$0]) - own).length }
        }
    }
}
